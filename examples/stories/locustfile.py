"""Clients of a story, a request each half second: `locust -f locustfile.py Read` asks for /read, `Fast` for /fast, and so on."""

from locust import HttpUser, constant, task


class Client(HttpUser):
    abstract = True
    wait_time = constant(0.5)
    path = None

    @task
    def ask(self):
        self.client.get(self.path)


class Read(Client):
    path = "/read"


class Fast(Client):
    path = "/fast"


class CpuAlloc(Client):
    path = "/cpualloc"


class Cpu(Client):
    path = "/cpu"
