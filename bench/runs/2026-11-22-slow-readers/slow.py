"""How long one slow reader of a large response keeps the database, and what the server takes meanwhile.

slow.py PORT PID RATE URL DBNAME: curl reads with a limited rate; for as long as the statement is active, at most 60 s.
"""
import subprocess, sys, time

port, pid, rate, path, database = sys.argv[1:]
curl = subprocess.Popen(["curl", "-s", "--limit-rate", rate, "-o", "/dev/null", f"http://127.0.0.1:{port}{path}"])
started = time.time()
active = ["psql", "-h", "127.0.0.1", "-p", "54999", "-U", "postgres", "-Atc",
          f"select count(*) from pg_stat_activity where datname = '{database}' and state <> 'idle' and pid <> pg_backend_pid()"]
time.sleep(0.3)
while time.time() - started < 60 and subprocess.check_output(active).strip() != b"0":
    time.sleep(0.1)
held = time.time() - started
status = open(f"/proc/{pid}/status").read()
peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
print(f"{held:.1f} s with the database, {int(peak.split()[1]) // 1024} MiB at the peak")
curl.kill()
