book = Flight book
skip = Skip to the content
navigation = Pages
language = Language

# Accounts
sign-in = Sign in
sign-in-refused = The address or the password is wrong.
sign-in-busy = Too many attempts. Try again in a minute.
try-later = The server has too much to do at the moment. Try again in a few seconds.
sign-out = Sign out
sign-out-everywhere = Sign out everywhere
sign-out-everywhere-about = Ends your sessions in all browsers, in this one too.
register = Register
register-name = A name has 1 to 80 characters.
register-email = This is no e-mail address.
register-taken = This address is registered already.
register-password = A password has at least 10 characters.
register-busy = Too many attempts. Try again in a minute.
samples = Look around
samples-about = This is a demo. Its pilots are made up, and need no password: choose one.
sample-gone = This pilot has left the demo. Choose another.
no-account-yet = No flight book yet?
account-already = You have a flight book already?
account = Account
account-since = Since { $date }, { $flights ->
    [one] one flight
   *[other] { $flights } flights
}.
account-who = Who you are
account-delete = Delete the account
account-delete-about = { $flights ->
    [0] The account is deleted
    [one] The account and its flight are deleted
   *[other] The account and its { $flights } flights are deleted
}, with tracks, gliders, sites and shared links, and nobody can bring them back. Type your e-mail address if that is what you want.
name = Name
name-hint = As others see it on flights that you share.
email = E-mail address
password = Password
password-hint = At least 10 characters.
password-now = Current password
password-new = New password
password-wrong = The current password is wrong.
password-changed = The password has been changed.
change-password = Change the password

# The start
welcome = Your flights, kept well
welcome-about = A flight book for paraglider pilots: what you flew, from where, how far and how high, for as many seasons as you like.
to-flights = To your flights
offer-tracks = Tracks become flights
offer-tracks-about = Upload an IGC file: date, times, heights, distances and scores are read from it.
offer-statistics = Years at a glance
offer-statistics-about = Flights, airtime and distance by year, month, glider and site.
offer-private = Yours alone
offer-private-about = Nobody else sees your flights, unless you share one by a link that you can withdraw. All of it can be exported and deleted at any time.

# Flights
flights = Flights
flights-found = { $count ->
    [0] No flights
    [one] One flight
   *[other] { $count } flights
}
flights-none = There are none yet.
flights-none-such = None is like that.
flight = Flight
flight-new = New flight
flight-number = Flight { NUMBER($number, useGrouping: "false") }
flight-edit = Edit flight { NUMBER($number, useGrouping: "false") }
flight-delete = Delete flight { NUMBER($number, useGrouping: "false") }
flight-delete-about = The flight of { $date } is deleted with its track and its shared link, and nobody can bring it back.
flight-of = { $pilot }, { $date }
number = Number
number-short = No.
number-hint = Left blank, it is the next one.
date = Date
year = Year
month = Month
launch = Launch
launch-time = Launch time (UTC)
landing = Landing
landing-time = Landing time (UTC)
airtime = Airtime
track-distance = Distance
track-distance-km = Distance along the track (km)
hike-and-fly = Hike and fly
comment = Comment
points = Points
distance = Distance
score = Score
scores = Scores by the rules of XContest
scores-unproven = The search for the best scores was ended early, so that better ones may exist.
free-flight = Free flight
free-triangle = Free triangle
closed-free-triangle = Closed free triangle
fai-triangle = FAI triangle
closed-fai-triangle = Closed FAI triangle
altitude-max = Highest altitude
height-gain = Height gain
elsewhere = Elsewhere
xcontest-url = Address at XContest
xcontest-tracktype = Scored at XContest as
xcontest-scored-distance = Scored distance (km)
video-url = Address of a video
at-xcontest = The flight at XContest
video = Video
track = Track
download-igc = Download { $name }
from-track = From a track
by-hand = By hand
igc-files = IGC files
igc-hint = One or several, or a ZIP file of them.
upload = Upload
file-same = the same file
track-empty = The file is empty. Download the flight from your recorder once more.
track-too-long = The file is longer than 16 MiB, which no track of a flight is.
track-html = This is a web page. Perhaps it was saved in place of the IGC file that it links to.
track-xml = This is a GPX or KML file. Only IGC files hold what a flight is scored by: export the flight as IGC.
track-not-igc = This is not an IGC file.
track-no-fixes = There is no position in the file. Perhaps the recorder had no satellites in view.
track-no-date = The file does not say on which day it was flown.
track-no-flight = There is no flight in this track.
track-known = This flight is in your book already.
track-date = The file names a day that is still to come. Perhaps the recorder's clock is wrong.
track-not-kept = This flight cannot be kept: something in it is beyond what a flight can have.
track-too-much = A flight takes at most 48 hours, and a file has at most 100 of them. This is something else.
track-no-file = Choose a file first.
track-upload-too-large = Send at most 128 MiB at a time.
track-zip-empty = There are no IGC files in this archive.
track-zip-unreadable = This archive is damaged or encrypted. Unpack it, and choose the IGC files in it.
track-zip-overlapping = Files in this archive overlap or have the same name. Unpack it, and choose the IGC files in it.
track-busy = There was no room for this file, or for the rest of it: too many were being added at once. Send it again.
track-too-many = One upload has at most 2,000 files. Send this one in another upload.
track-more = { $number } further results are not listed here.
track-quota-tracks = There is no room left for this file among your tracks. Your account page shows how much there is. Delete flights with tracks that you no longer need.
track-quota-flights = Your book would have more flights than it may have. Your account page shows how many that is. Delete some that you no longer need.
track-not-proven = The flight is in your book. This upload was too large to find its best scores for certain: send the file again by itself.
track-scored = This flight was in your book already. Its best scores have been found now.
track-zip-too-much = The archives of one upload may have at most 2,000 files and 1 GiB of unpacked content, and no file that is packed to less than a hundredth of its size. Send fewer files at a time.
uploaded = What was sent
file = File
upload-more = Send more
sharing = Sharing
share = Make a link
share-about = Only you see this flight. A link shows it to whoever has it, without their signing in.
shared-since = Since { $date }, whoever has this link sees the flight:
withdraw = Withdraw the link
signature = Signature
print = Print
print-about = Print this page with your browser.

# Lists
filters = Filters
search-comment = Comment contains
all = All
order = Order
order-newest = Newest first
order-oldest = Oldest first
order-farthest = Farthest first
order-longest = Longest first
order-best = Best score first
show = Show
pages = Pages of the list
page-of = Page { $page } of { $pages }
first-page = First
previous-page = Previous
next-page = Next
last-page = Last

# Gliders and sites
glider = Glider
gliders = Gliders
gliders-about = Your gliders and what you flew on them
gliders-none = There are none yet.
glider-new = New glider
manufacturer = Manufacturer
model = Model
since = Since
until = Until
site = Site
sites = Sites
sites-about = Where you launched and landed
sites-none = There are none yet.
site-new = New site
country = Country
country-code = Country code
country-hint = Two letters of ISO 3166, such as CH.
elevation = Elevation
elevation-m = Elevation (m)
latitude = Latitude (degrees)
longitude = Longitude (degrees)
launches = Launches
landings = Landings
last-used = Last used
in-use = { $count ->
    [one] It cannot be deleted while a flight refers to it.
   *[other] It cannot be deleted while { $count } flights refer to it.
}

# Maps
map = Map
map-of-flights = Map of your flights
map-about = The latest 1,000 flights of the year, or of all years; those without a track are where they launched.
map-of-track = Map of the track
map-of-sites = Map of your sites
map-of-site = Map of { $name }
map-failed = The map cannot be loaded. Check your connection and load the page again.
needs-script = Maps and barograms are drawn by a script, which your browser does not run. All figures stand on the page.
two-fingers = Move the map with two fingers.
zoom-in = Zoom in
zoom-out = Zoom out
climbing = Climbing
sinking = Sinking
launches-at = { $site }: { $count }
track-point = { $time } UTC · { $altitude } m · { $climb } m/s
barogram = Barogram: height over time

# Statistics
statistics = Statistics
days = Days flown
by-year = By year
by-month = By month
by-glider = By glider
by-site = By launch site
best-points = Best score
longest-airtime = Longest flight
longest-distance = Farthest flight
month-1 = January
month-2 = February
month-3 = March
month-4 = April
month-5 = May
month-6 = June
month-7 = July
month-8 = August
month-9 = September
month-10 = October
month-11 = November
month-12 = December

# Import and export
storage = Storage
storage-of = { $used } of { $most }
tracks = Tracks
export = Export
export-about = All that you have entered, in formats that other programs read.
export-csv = Flights as CSV
export-zip = Flights and tracks as ZIP
import = Import CSV
import-about = A file of flights, as spreadsheets and other flight books write them. You see what will become of it before anything is kept.
csv-file = CSV file
csv-hint = At most 2 MiB and 20,000 rows; commas or semicolons.
import-columns = Columns
import-preview = Preview
import-nothing = There is nothing to import.
import-again = Another file
import-good = { $count ->
    [one] One row becomes a flight
   *[other] { $count } rows become flights
}
import-bad = { $count ->
    [one] One row is left out
   *[other] { $count } rows are left out
}
import-finish = { $count ->
    [one] Import one flight
   *[other] Import { $count } flights
}
row = Row
problems = What is wrong
import-number = The number is none from 1 to 1,000,000.
import-number-taken = You have a flight of this number already.
import-number-twice = Another row of the file has this number.
import-date-missing = The date is missing.
import-date = The date is none such as 2026-05-17.
import-glider = The glider's name is longer than 80 characters.
import-launch-site = The launch site's name is longer than 120 characters.
import-landing-site = The landing site's name is longer than 120 characters.
import-launch-time = The launch time is none such as 11:42.
import-landing-time = The landing time is none such as 14:08.
import-track-distance = The distance is none such as 42.5.
import-hike-and-fly = Hike and fly is neither yes nor no.
import-comment = The comment is longer than 10,000 characters.
import-xcontest-url = The address at XContest begins neither with https:// nor with http://.
import-xcontest-tracktype = XContest scores nothing of this kind.
import-scored-distance = The scored distance is none such as 42.5.
import-video-url = The video's address begins neither with https:// nor with http://.

# What the schema refuses, by the names of its constraints
refused-pilot_has_name = A name is needed.
refused-email_has_form = This is no e-mail address.
refused-pilots_email = This address is registered already.
refused-email_is_own = This is not your address.
refused-glider_has_manufacturer = A manufacturer is needed.
refused-glider_until_after_since = The last day is before the first.
refused-gliders_name = You have this glider already.
refused-site_has_name = A name is needed.
refused-country_is_code = A country has two capital letters, such as CH.
refused-elevation_on_earth = From -450 to 8,900 metres.
refused-latitude_on_earth = From -90 to 90 degrees.
refused-longitude_on_earth = From -180 to 180 degrees.
refused-site_has_both_degrees = A position has a latitude and a longitude.
refused-sites_name = You have a site of this name already.
refused-number_counts = A number is from 1 to 1,000,000.
refused-date_of_aviation = Nobody flew on this day.
refused-track_distance_positive = A distance is not below zero.
refused-scored_distance_positive = A distance is not below zero.
refused-xcontest_url_is_web = An address begins with https:// or http://.
refused-video_url_is_web = An address begins with https:// or http://.
refused-duration_of_a_flight = A flight takes at most 48 hours.
refused-glider = You have no such glider, or it has flights.
refused-launch_site = You have no such site, or it has flights.
refused-landing_site = You have no such site, or it has flights.
refused-flights_number = You have a flight of this number already.
refused-csv_size = A CSV file has at most 2 MiB.
refused-csv_text = This is no text.
refused-csv_quotes = There are quotes in the file that do not end, or that stand within a cell.
refused-csv_head = The first row must name the columns, and date among them.
refused-csv_columns = The first row of a CSV file has at most 16 KiB and 100 columns.
refused-csv_rows = A CSV file has 1 to 20,000 rows below its head.
refused-language_is_known = There is no such language here.
refused-flights_quota = Your book has as many flights as it may have. Delete some that you no longer need.
refused-gliders_quota = Your book has as many gliders as it may have. Delete some that you no longer need.
refused-sites_quota = Your book has as many sites as it may have. Delete some that you no longer need.

# Everywhere
yes = Yes
none = None
save = Save
cancel = Cancel
edit = Edit
delete = Delete
back = Back
not-found = There is no such page
not-found-about = What was here is gone, or is not yours to see.
error = That did not work
error-not-yours = This is not yours to see. Sign in as who may.
to-start = To the beginning
