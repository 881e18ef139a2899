form-missing = This must be filled in.
form-nothing-sent = Nothing was sent that can be written.
form-invalid = { $type ->
    [integer] This must be a whole number.
    [number] This must be a number.
    [date] This must be a date.
    [time] This must be a time.
    [moment] This must be a date and a time.
   *[other] This is not valid.
}
form-out-of-range = This number is too large or too small.
form-too-long = { $most ->
    [0] This is too long.
    [one] This is too long: it has at most one character.
   *[other] This is too long: it has at most { $most } characters.
}
form-taken = This is there already.
form-refused = This is not allowed.
form-overlaps = This overlaps with another.
form-unknown = There is no such thing.
form-in-use = This is still in use.
form-session-ended = Your session has ended
form-not-saved-yet = Nothing has been saved yet. Sign in, which opens a new tab, then come back and send what you have entered.
form-sign-in = Sign in (new tab)
form-send-again = Send again
form-choose-again = This file must be chosen again: { $name }
form-too-much = You have entered more than this page can keep. Go back, and send the form again after you have signed in.
