"""Clients that ask for /cpualloc, a request each half second."""

from locust import HttpUser, constant, task


class Client(HttpUser):
    wait_time = constant(0.5)

    @task
    def ask(self):
        self.client.get("/cpualloc")
