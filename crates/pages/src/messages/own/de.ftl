form-missing = Hier fehlt eine Angabe.
form-nothing-sent = Es wurde nichts gesendet, das gespeichert werden kann.
form-invalid = { $type ->
    [integer] Hier wird eine ganze Zahl gebraucht.
    [number] Hier wird eine Zahl gebraucht.
    [date] Hier wird ein Datum gebraucht.
    [time] Hier wird eine Uhrzeit gebraucht.
    [moment] Hier werden Datum und Uhrzeit gebraucht.
   *[other] Diese Angabe ist ungültig.
}
form-out-of-range = Diese Zahl ist zu groß oder zu klein.
form-too-long = { $most ->
    [0] Das ist zu lang.
    [one] Das ist zu lang: Höchstens ein Zeichen ist möglich.
   *[other] Das ist zu lang: Höchstens { $most } Zeichen sind möglich.
}
form-taken = Das gibt es schon.
form-refused = Das ist nicht erlaubt.
form-overlaps = Das überschneidet sich mit einem anderen Eintrag.
form-unknown = Das gibt es nicht.
form-in-use = Das wird noch verwendet.
form-session-ended = Ihre Sitzung ist beendet
form-not-saved-yet = Es ist noch nichts gespeichert. Melden Sie sich an (das öffnet einen neuen Tab), kommen Sie zurück, und senden Sie, was Sie eingegeben haben.
form-sign-in = Anmelden (neuer Tab)
form-send-again = Noch einmal senden
form-choose-again = Diese Datei muss noch einmal gewählt werden: { $name }
form-too-much = Sie haben mehr eingegeben, als diese Seite behalten kann. Gehen Sie zurück, und senden Sie das Formular nach der Anmeldung noch einmal.
