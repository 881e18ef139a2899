"""Pilots who read their flight books, for `locust`: each signs in, looks around, and now and then sends a track.

FLIGHTBOOK_PASSWORD is the password of all of them, FLIGHTBOOK_TRACKS a folder of tracks.
"""

import itertools
import os
import pathlib

from locust import FastHttpUser, between, task

PASSWORD = os.environ["FLIGHTBOOK_PASSWORD"]
TRACKS = [path.read_bytes() for path in sorted(pathlib.Path(os.environ["FLIGHTBOOK_TRACKS"]).iterdir())]
NUMBERS = itertools.count(1)


class Pilot(FastHttpUser):
    wait_time = between(0.5, 1.5)

    def on_start(self):
        self.number = next(NUMBERS)
        self.sent = 0
        # a browser sends a cookie that is for https to this machine; locust does not
        form = {"email": f"pilot{self.number}@club.example", "password": PASSWORD}
        headers = {"Origin": self.host, "X-Forwarded-For": f"192.0.2.{self.number}"}
        with self.client.post("/do/sign_in", data=form, headers=headers, allow_redirects=False, catch_response=True) as answer:
            cookie = answer.headers.get("set-cookie") or ""
            if answer.status_code == 303 and cookie.startswith("__Host-flightbook="):
                answer.success()
            else:
                answer.failure(f"{answer.status_code} {answer.headers.get('location')}")
            self.cookie = cookie.split(";")[0]
        page = self.read("/flights", "/flights")
        self.flights = [part.split('"')[0] for part in page.text.split('href="/flights/')[1:] if part[0].isdigit()]

    def read(self, path, name):
        return self.client.get(path, headers={"Cookie": self.cookie}, name=name)

    @task(6)
    def the_list(self):
        self.read("/flights", "/flights")

    @task(3)
    def a_later_page(self):
        self.read(f"/flights?page={2 + self.number % 5}", "/flights?page=")

    @task(4)
    def a_flight(self):
        self.read(f"/flights/{self.flights[self.number % len(self.flights)]}", "/flights/17")

    @task(2)
    def the_map(self):
        self.read("/map", "/map")
        self.read("/map.json", "/map.json")

    @task(2)
    def statistics(self):
        self.read("/statistics", "/statistics")

    @task(1)
    def take_over_a_track(self):
        track = TRACKS[self.sent % len(TRACKS)]
        self.sent += 1
        headers = {"Cookie": self.cookie, "Origin": self.host}
        boundary = "b0undary"
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="igc"; filename="track.igc"\r\n\r\n'.encode()
        headers["Content-Type"] = f"multipart/form-data; boundary={boundary}"
        body = head + track + f"\r\n--{boundary}--\r\n".encode()
        with self.client.post("/do/tracks", data=body, headers=headers, allow_redirects=False, catch_response=True) as answer:
            location = answer.headers.get("location") or ""
            # one that is known already is said so
            if answer.status_code == 303 and (location.startswith("/flights/") and "problem" not in location):
                answer.success()
            else:
                answer.failure(f"{answer.status_code} {location}")
