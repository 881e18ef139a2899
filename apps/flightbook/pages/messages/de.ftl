book = Flugbuch
skip = Zum Inhalt
navigation = Seiten
language = Sprache

# Konten
sign-in = Anmelden
sign-in-refused = Adresse oder Passwort ist falsch.
sign-in-busy = Zu viele Versuche. Versuche es in einer Minute wieder.
try-later = Der Server hat im Moment zu viel zu tun. Versuche es in ein paar Sekunden noch einmal.
sign-out = Abmelden
sign-out-everywhere = Überall abmelden
sign-out-everywhere-about = Beendet deine Sitzungen in allen Browsern, auch in diesem.
register = Registrieren
register-name = Ein Name hat 1 bis 80 Zeichen.
register-email = Das ist keine E-Mail-Adresse.
register-taken = Diese Adresse ist schon registriert.
register-password = Ein Passwort hat mindestens 10 Zeichen.
register-busy = Zu viele Versuche. Versuche es in einer Minute wieder.
samples = Schau dich um
samples-about = Das ist eine Demo. Ihre Piloten sind erfunden und brauchen kein Passwort: wähle einen aus.
sample-gone = Diesen Piloten gibt es in der Demo nicht mehr. Wähle einen anderen.
no-account-yet = Noch kein Flugbuch?
account-already = Du hast schon ein Flugbuch?
account = Konto
account-since = Seit dem { $date }, { $flights ->
    [one] ein Flug
   *[other] { $flights } Flüge
}.
account-who = Wer du bist
account-delete = Konto löschen
account-delete-about = { $flights ->
    [0] Das Konto wird gelöscht
    [one] Das Konto und sein Flug werden gelöscht
   *[other] Das Konto und seine { $flights } Flüge werden gelöscht
}, samt Tracks, Schirmen, Orten und geteilten Links, und niemand kann sie zurückholen. Gib deine E-Mail-Adresse ein, wenn du das willst.
name = Name
name-hint = So sehen ihn andere bei Flügen, die du teilst.
email = E-Mail-Adresse
password = Passwort
password-hint = Mindestens 10 Zeichen.
password-now = Aktuelles Passwort
password-new = Neues Passwort
password-wrong = Das aktuelle Passwort ist falsch.
password-changed = Das Passwort ist geändert.
change-password = Passwort ändern

# Der Anfang
welcome = Deine Flüge, gut aufgehoben
welcome-about = Ein Flugbuch für Gleitschirmpiloten: was du geflogen bist, von wo, wie weit und wie hoch, für so viele Saisons, wie du willst.
to-flights = Zu deinen Flügen
offer-tracks = Aus Tracks werden Flüge
offer-tracks-about = Lade eine IGC-Datei hoch: Datum, Zeiten, Höhen, Strecken und Punkte werden daraus gelesen.
offer-statistics = Jahre auf einen Blick
offer-statistics-about = Flüge, Flugzeit und Strecke nach Jahr, Monat, Schirm und Fluggebiet.
offer-private = Nur für dich
offer-private-about = Niemand sonst sieht deine Flüge, außer du teilst einen mit einem Link, den du zurückziehen kannst. Alles lässt sich jederzeit exportieren und löschen.

# Flüge
flights = Flüge
flights-found = { $count ->
    [0] Keine Flüge
    [one] Ein Flug
   *[other] { $count } Flüge
}
flights-none = Es gibt noch keine.
flights-none-such = So ist keiner.
flight = Flug
flight-new = Neuer Flug
flight-number = Flug { NUMBER($number, useGrouping: "false") }
flight-edit = Flug { NUMBER($number, useGrouping: "false") } bearbeiten
flight-delete = Flug { NUMBER($number, useGrouping: "false") } löschen
flight-delete-about = Der Flug vom { $date } wird samt Track und geteiltem Link gelöscht, und niemand kann ihn zurückholen.
flight-of = { $pilot }, { $date }
number = Nummer
number-short = Nr.
number-hint = Leer gelassen ist es die nächste.
date = Datum
year = Jahr
month = Monat
launch = Start
launch-time = Startzeit (UTC)
landing = Landung
landing-time = Landezeit (UTC)
airtime = Flugzeit
track-distance = Strecke
track-distance-km = Strecke des Tracks (km)
hike-and-fly = Hike and Fly
comment = Kommentar
points = Punkte
distance = Strecke
score = Wertung
scores = Wertung nach den Regeln von XContest
scores-unproven = Die Suche nach der besten Wertung wurde vorzeitig beendet; es kann eine bessere geben.
free-flight = Freie Strecke
free-triangle = Flaches Dreieck
closed-free-triangle = Geschlossenes flaches Dreieck
fai-triangle = FAI-Dreieck
closed-fai-triangle = Geschlossenes FAI-Dreieck
altitude-max = Größte Höhe
height-gain = Höhengewinn
elsewhere = Anderswo
xcontest-url = Adresse bei XContest
xcontest-tracktype = Bei XContest gewertet als
xcontest-scored-distance = Gewertete Strecke (km)
video-url = Adresse eines Videos
at-xcontest = Der Flug bei XContest
video = Video
track = Track
download-igc = { $name } herunterladen
from-track = Aus einem Track
by-hand = Von Hand
igc-files = IGC-Dateien
igc-hint = Eine oder mehrere, oder eine ZIP-Datei davon.
upload = Hochladen
file-same = dieselbe Datei
track-empty = Die Datei ist leer. Lade den Flug noch einmal von deinem Gerät herunter.
track-too-long = Die Datei ist größer als 16 MiB; so lang ist kein Track eines Flugs.
track-html = Das ist eine Webseite. Vielleicht wurde sie anstelle der IGC-Datei gespeichert, auf die sie verweist.
track-xml = Das ist eine GPX- oder KML-Datei. Nur IGC-Dateien enthalten, wonach ein Flug gewertet wird: Exportiere den Flug als IGC.
track-not-igc = Das ist keine IGC-Datei.
track-no-fixes = In der Datei ist keine Position. Vielleicht hatte das Gerät keine Satelliten im Blick.
track-no-date = Die Datei sagt nicht, an welchem Tag geflogen wurde.
track-no-flight = In diesem Track ist kein Flug.
track-known = Dieser Flug steht schon in deinem Buch.
track-date = Die Datei nennt einen Tag, der erst noch kommt. Vielleicht geht die Uhr des Recorders falsch.
track-not-kept = Dieser Flug kann nicht behalten werden: Etwas darin übersteigt, was ein Flug haben kann.
track-too-much = Ein Flug dauert höchstens 48 Stunden, und eine Datei hat höchstens 100 davon. Das hier ist etwas anderes.
track-no-file = Wähle zuerst eine Datei.
track-upload-too-large = Sende höchstens 128 MiB auf einmal.
track-zip-empty = In diesem Archiv sind keine IGC-Dateien.
track-zip-unreadable = Dieses Archiv ist beschädigt oder verschlüsselt. Entpacke es, und wähle die IGC-Dateien daraus.
track-zip-overlapping = In diesem Archiv überlappen sich Dateien, oder sie heißen gleich. Entpacke es, und wähle die IGC-Dateien daraus.
track-busy = Für diese Datei oder ihren Rest war kein Platz: Zu viele wurden auf einmal hinzugefügt. Sende sie noch einmal.
track-too-many = Eine Sendung hat höchstens 2.000 Dateien. Sende diese mit einer weiteren.
track-more = { $number } weitere Ergebnisse stehen nicht in dieser Liste.
track-quota-tracks = Für diese Datei ist unter deinen Tracks kein Platz mehr. Wie viel Platz es gibt, steht auf der Seite deines Kontos. Lösche Flüge mit Tracks, die du nicht mehr brauchst.
track-quota-flights = Dein Buch hätte mehr Flüge, als es haben darf. Wie viele das sind, steht auf der Seite deines Kontos. Lösche Flüge, die du nicht mehr brauchst.
track-not-proven = Der Flug steht in deinem Buch. Diese Sendung war zu groß, um seine beste Wertung sicher zu finden: Sende die Datei noch einmal für sich allein.
track-scored = Dieser Flug stand schon in deinem Buch. Seine beste Wertung ist jetzt gefunden.
track-zip-too-much = Die Archive einer Sendung dürfen höchstens 2.000 Dateien und 1 GiB an entpacktem Inhalt haben, und keine Datei, die auf weniger als ein Hundertstel ihrer Größe gepackt ist. Sende weniger Dateien auf einmal.
uploaded = Was gesendet wurde
file = Datei
upload-more = Weitere senden
sharing = Teilen
share = Link erstellen
share-about = Nur du siehst diesen Flug. Ein Link zeigt ihn allen, die ihn haben, ohne Anmeldung.
shared-since = Seit dem { $date } sieht den Flug, wer diesen Link hat:
withdraw = Link zurückziehen
signature = Unterschrift
print = Drucken
print-about = Drucke diese Seite mit deinem Browser.

# Listen
filters = Filter
search-comment = Kommentar enthält
all = Alle
order = Reihenfolge
order-newest = Neueste zuerst
order-oldest = Älteste zuerst
order-farthest = Weiteste zuerst
order-longest = Längste zuerst
order-best = Beste Wertung zuerst
show = Zeigen
pages = Seiten der Liste
page-of = Seite { $page } von { $pages }
first-page = Erste
previous-page = Vorige
next-page = Nächste
last-page = Letzte

# Schirme und Fluggebiete
glider = Schirm
gliders = Schirme
gliders-about = Deine Schirme und was du mit ihnen geflogen bist
gliders-none = Es gibt noch keine.
glider-new = Neuer Schirm
manufacturer = Hersteller
model = Modell
since = Seit
until = Bis
site = Ort
sites = Orte
sites-about = Wo du gestartet und gelandet bist
sites-none = Es gibt noch keine.
site-new = Neuer Ort
country = Land
country-code = Ländercode
country-hint = Zwei Buchstaben nach ISO 3166, wie CH.
elevation = Höhe
elevation-m = Höhe (m)
latitude = Breite (Grad)
longitude = Länge (Grad)
launches = Starts
landings = Landungen
last-used = Zuletzt benutzt
in-use = { $count ->
    [one] Das lässt sich nicht löschen, solange ein Flug darauf verweist.
   *[other] Das lässt sich nicht löschen, solange { $count } Flüge darauf verweisen.
}

# Karten
map = Karte
map-of-flights = Karte deiner Flüge
map-about = Die letzten 1.000 Flüge des Jahres oder aller Jahre; die ohne Track sind da, wo sie begannen.
map-of-track = Karte des Tracks
map-of-sites = Karte deiner Orte
map-of-site = Karte von { $name }
map-failed = Die Karte lässt sich nicht laden. Prüfe deine Verbindung und lade die Seite noch einmal.
needs-script = Karten und Barogramme zeichnet ein Skript, das dein Browser nicht ausführt. Alle Zahlen stehen auf der Seite.
two-fingers = Verschiebe die Karte mit zwei Fingern.
zoom-in = Vergrößern
zoom-out = Verkleinern
climbing = Steigen
sinking = Sinken
launches-at = { $site }: { $count }
track-point = { $time } UTC · { $altitude } m · { $climb } m/s
barogram = Barogramm: Höhe über der Zeit

# Statistik
statistics = Statistik
days = Flugtage
by-year = Nach Jahr
by-month = Nach Monat
by-glider = Nach Schirm
by-site = Nach Startplatz
best-points = Beste Wertung
longest-airtime = Längster Flug
longest-distance = Weitester Flug
month-1 = Januar
month-2 = Februar
month-3 = März
month-4 = April
month-5 = Mai
month-6 = Juni
month-7 = Juli
month-8 = August
month-9 = September
month-10 = Oktober
month-11 = November
month-12 = Dezember

# Import und Export
storage = Speicher
storage-of = { $used } von { $most }
tracks = Tracks
export = Export
export-about = Alles, was du eingegeben hast, in Formaten, die andere Programme lesen.
export-csv = Flüge als CSV
export-zip = Flüge und Tracks als ZIP
import = CSV importieren
import-about = Eine Datei mit Flügen, wie Tabellenprogramme und andere Flugbücher sie schreiben. Du siehst, was daraus wird, bevor etwas behalten wird.
csv-file = CSV-Datei
csv-hint = Höchstens 2 MiB und 20.000 Zeilen; Kommas oder Semikolons.
import-columns = Spalten
import-preview = Vorschau
import-nothing = Es gibt nichts zu importieren.
import-again = Andere Datei
import-good = { $count ->
    [one] Eine Zeile wird ein Flug
   *[other] { $count } Zeilen werden Flüge
}
import-bad = { $count ->
    [one] Eine Zeile wird ausgelassen
   *[other] { $count } Zeilen werden ausgelassen
}
import-finish = { $count ->
    [one] Einen Flug importieren
   *[other] { $count } Flüge importieren
}
row = Zeile
problems = Was nicht stimmt
import-number = Die Nummer ist keine von 1 bis 1.000.000.
import-number-taken = Du hast schon einen Flug mit dieser Nummer.
import-number-twice = Eine andere Zeile der Datei hat diese Nummer.
import-date-missing = Das Datum fehlt.
import-date = Das Datum ist keines wie 2026-05-17.
import-glider = Der Name des Schirms ist länger als 80 Zeichen.
import-launch-site = Der Name des Startplatzes ist länger als 120 Zeichen.
import-landing-site = Der Name des Landeplatzes ist länger als 120 Zeichen.
import-launch-time = Die Startzeit ist keine wie 11:42.
import-landing-time = Die Landezeit ist keine wie 14:08.
import-track-distance = Die Strecke ist keine wie 42.5.
import-hike-and-fly = Hike and Fly ist weder ja noch nein.
import-comment = Der Kommentar ist länger als 10.000 Zeichen.
import-xcontest-url = Die Adresse bei XContest beginnt weder mit https:// noch mit http://.
import-xcontest-tracktype = So wertet XContest nichts.
import-scored-distance = Die gewertete Strecke ist keine wie 42.5.
import-video-url = Die Adresse des Videos beginnt weder mit https:// noch mit http://.

# Was das Schema ablehnt, nach den Namen seiner Regeln
refused-pilot_has_name = Ein Name wird gebraucht.
refused-email_has_form = Das ist keine E-Mail-Adresse.
refused-pilots_email = Diese Adresse ist schon registriert.
refused-email_is_own = Das ist nicht deine Adresse.
refused-glider_has_manufacturer = Ein Hersteller wird gebraucht.
refused-glider_until_after_since = Der letzte Tag ist vor dem ersten.
refused-gliders_name = Diesen Schirm hast du schon.
refused-site_has_name = Ein Name wird gebraucht.
refused-country_is_code = Ein Land hat zwei große Buchstaben, wie CH.
refused-elevation_on_earth = Von -450 bis 8.900 Meter.
refused-latitude_on_earth = Von -90 bis 90 Grad.
refused-longitude_on_earth = Von -180 bis 180 Grad.
refused-site_has_both_degrees = Eine Position hat Breite und Länge.
refused-sites_name = Einen Ort dieses Namens hast du schon.
refused-number_counts = Eine Nummer ist von 1 bis 1.000.000.
refused-date_of_aviation = An diesem Tag ist niemand geflogen.
refused-track_distance_positive = Eine Strecke ist nicht unter null.
refused-scored_distance_positive = Eine Strecke ist nicht unter null.
refused-xcontest_url_is_web = Eine Adresse beginnt mit https:// oder http://.
refused-video_url_is_web = Eine Adresse beginnt mit https:// oder http://.
refused-duration_of_a_flight = Ein Flug dauert höchstens 48 Stunden.
refused-glider = Du hast keinen solchen Schirm, oder er hat Flüge.
refused-launch_site = Du hast keinen solchen Ort, oder er hat Flüge.
refused-landing_site = Du hast keinen solchen Ort, oder er hat Flüge.
refused-flights_number = Du hast schon einen Flug mit dieser Nummer.
refused-csv_size = Eine CSV-Datei hat höchstens 2 MiB.
refused-csv_text = Das ist kein Text.
refused-csv_quotes = In der Datei sind Anführungszeichen, die nicht enden oder innerhalb einer Zelle stehen.
refused-csv_head = Die erste Zeile muss die Spalten nennen, darunter date.
refused-csv_columns = Die erste Zeile einer CSV-Datei hat höchstens 16 KiB und 100 Spalten.
refused-csv_rows = Eine CSV-Datei hat 1 bis 20.000 Zeilen unter ihrem Kopf.
refused-language_is_known = Diese Sprache gibt es hier nicht.
refused-flights_quota = Dein Buch hat so viele Flüge, wie es haben darf. Lösche welche, die du nicht mehr brauchst.
refused-gliders_quota = Dein Buch hat so viele Schirme, wie es haben darf. Lösche welche, die du nicht mehr brauchst.
refused-sites_quota = Dein Buch hat so viele Orte, wie es haben darf. Lösche welche, die du nicht mehr brauchst.

# Überall
yes = Ja
none = Keine Angabe
save = Speichern
cancel = Abbrechen
edit = Bearbeiten
delete = Löschen
back = Zurück
not-found = Diese Seite gibt es nicht
not-found-about = Was hier war, ist weg, oder es ist nicht für dich.
error = Das ging nicht
error-not-yours = Das ist nicht für dich. Melde dich an, wenn du darfst.
to-start = Zum Anfang
