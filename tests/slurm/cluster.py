"""A Slurm cluster of one machine for tests: munged, slurmctld and two slurmd, all in one folder, by the user that runs
it. Debian: slurm-wlm and munge (./dev setup slurm). With database=True also slurmdbd and a MariaDB, for sacct.

    with Cluster(folder) as cluster:       # or python3 tests/slurm/cluster.py FOLDER: until Ctrl-C
        cluster.run("sinfo")

Nodes are processes (slurmd -N), so their processors and memory are what slurm.conf says (config_overrides); there are no
cgroups."""
import contextlib
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")
DATABASE_PROGRAMS = ("mariadbd", "slurmdbd", "sacct", "sacctmgr")
REST_PROGRAMS = ("slurmrestd", "curl")
SQL = pathlib.Path("/usr/share/mysql")
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])

CONFIG = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
SlurmctldPort={control}
SlurmdParameters=config_overrides
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
{accounting}
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=2,sched_min_interval=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
SlurmdTimeout=10
KillWait=3
MinJobAge=300
MessageTimeout=5
GresTypes=gpu
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10
"""


# slurmrestd
JWT = """\
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={folder}/jwt.key
"""
DBD_CONFIG = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
DbdHost=localhost
DbdPort={dbd}
SlurmUser={user}
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={sql}
StorageUser=root
StorageLoc=slurm
"""


def missing(programs=PROGRAMS):
    """The programs that are not installed."""
    return [name for name in programs if not shutil.which(name, path=PATH)]


def free_ports(count):
    """Below those that the system takes for connections."""
    found, at = [], 13000 + os.getpid() * 7 % 5000
    while len(found) < count:
        at += 1
        with contextlib.suppress(OSError), socket.socket() as s:
            s.bind(("127.0.0.1", at))
            found.append(at)
    return found


def is_open(port):
    """True if a program listens there."""
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def missing_for_rest():
    plugin = any(pathlib.Path("/usr/lib").glob("*/slurm*/auth_jwt.so"))
    return missing(REST_PROGRAMS) + ([] if plugin else ["slurm-wlm-jwt-plugin"])


class Cluster:
    def __init__(self, folder, nodes=2, cpus=4, memory_mib=8000, database=False):
        self.folder = pathlib.Path(folder).resolve()
        self.nodes = [f"n{i + 1}" for i in range(nodes)]
        self.ports = free_ports(nodes + 4)
        self.database = database
        self.rest_folder = None
        self.processes = {}
        self.user = getpass.getuser()
        self.environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(self.folder / "slurm.conf")}
        lines = "\n".join(f"NodeName={n} NodeHostname=localhost NodeAddr=127.0.0.1 Port={p} CPUs={cpus} "
                          f"RealMemory={memory_mib} Gres=gpu:2" for n, p in zip(self.nodes, self.ports[1:]))
        self.dbd_port, self.sql_port, self.rest_port = self.ports[-3:]
        self.has_rest = not missing_for_rest()
        accounting = f"""AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={self.dbd_port}
AccountingStoragePass={self.folder}/munge/socket
AccountingStorageTRES=gres/gpu""" if database else "AccountingStorageType=accounting_storage/none"
        self.config = CONFIG.format(user=self.user, folder=self.folder, control=self.ports[0], nodes=lines, accounting=accounting)
        if self.has_rest:
            self.config += JWT.format(folder=self.folder)

    # ---- its processes: "munged", "slurmctld", and the nodes "n1", "n2" ----

    def _arguments(self, name):
        if name == "munged":
            m = self.folder / "munge"
            return ["munged", "--foreground", "--force", "--num-threads=10", f"--key-file={m}/key", f"--socket={m}/socket",
                    f"--pid-file={m}/pid", f"--log-file={m}/log", f"--seed-file={m}/seed"]
        if name == "mariadbd":
            return ["mariadbd", *self._sql_options(), "--bind-address=127.0.0.1", f"--port={self.sql_port}", "--skip-grant-tables",
                    f"--socket={self.folder}/sql.socket", f"--pid-file={self.folder}/sql.pid", "--innodb-flush-log-at-trx-commit=0"]
        if name == "slurmdbd":
            return ["slurmdbd", "-D"]
        if name == "slurmrestd":
            other = ["-u", "nobody", "-g", "nogroup"] if os.getuid() == 0 else []  # it refuses to run as root
            return ["slurmrestd", *other, "-s", "openapi/v0.0.38", "-a", "rest_auth/jwt", f"127.0.0.1:{self.rest_port}"]
        if name == "slurmctld":
            return ["slurmctld", "-D", "-i"]
        return ["slurmd", "-D", "-N", name]

    def _sql_options(self):
        return ["--no-defaults", f"--user={self.user}", f"--datadir={self.folder}/sql", "--innodb-log-file-size=16M"]

    def _start_database(self, seconds):
        (self.folder / "sql").mkdir()
        tables = "".join((SQL / name).read_text() for name in ("mysql_system_tables.sql", "mysql_system_tables_data.sql"))
        subprocess.run(["mariadbd", *self._sql_options(), "--bootstrap"], env=self.environment, check=True, text=True,
                       capture_output=True, input="CREATE DATABASE mysql;\nCREATE DATABASE slurm;\nUSE mysql;\n" + tables)
        config = self.folder / "slurmdbd.conf"
        config.write_text(DBD_CONFIG.format(folder=self.folder, user=self.user, dbd=self.dbd_port, sql=self.sql_port))
        config.chmod(0o600)
        self.begin("mariadbd")
        self.until(lambda: is_open(self.sql_port), seconds, "mariadbd")
        self.begin("slurmdbd")
        self.until(lambda: is_open(self.dbd_port), seconds, "slurmdbd")
        self.run("sacctmgr", "-i", "add", "cluster", "test")
        self.run("sacctmgr", "-i", "add", "account", "lab", "Cluster=test")
        self.run("sacctmgr", "-i", "add", "user", self.user, "Account=lab")

    def begin(self, name):
        """Starts one of them, if it does not run."""
        running = self.processes.get(name)
        if running and running.poll() is None:
            return
        with open(self.folder / f"{name}.out", "ab") as out:
            environment = self.rest_environment() if name == "slurmrestd" else self.environment
            self.processes[name] = subprocess.Popen(self._arguments(name), env=environment, stdin=subprocess.DEVNULL,
                                                    stdout=out, stderr=out, start_new_session=True)

    def kill(self, name, number=signal.SIGKILL):
        """Ends one of them, without what it has started."""
        process = self.processes[name]
        process.send_signal(number)
        process.wait()

    def start(self, seconds=30):
        for name in ("munge", "state", *(f"spool-{n}" for n in self.nodes)):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        os.chmod(self.folder, 0o755)
        os.chmod(self.folder / "munge", 0o700)
        for key in (self.folder / "munge" / "key", self.folder / "jwt.key"):
            key.write_bytes(os.urandom(1024))
            key.chmod(0o600)
        (self.folder / "slurm.conf").write_text(self.config)
        (self.folder / "gres.conf").write_text("".join(
            f"NodeName={n} Name=gpu Count=2 File=/dev/null,/dev/zero\n" for n in self.nodes))
        self.begin("munged")
        self.until((self.folder / "munge" / "socket").exists, seconds, "munged")
        if self.database:
            self._start_database(seconds)
        for name in ("slurmctld", *self.nodes):
            self.begin(name)
        self.until(self.is_idle, seconds, "the nodes")
        return self

    def stop(self):
        with contextlib.suppress(Exception):
            self.run("scancel", f"--user={self.user}", timeout=10)
        self.until_quietly(lambda: not self.jobs("RUNNING,COMPLETING"), 5)
        for name in reversed(list(self.processes)):
            process = self.processes[name]
            if process.poll() is None:
                process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self.rest_folder:
            shutil.rmtree(self.rest_folder, ignore_errors=True)

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()

    def rest_environment(self):
        """Its user may not enter our folder, so it has a copy of slurm.conf."""
        if not self.rest_folder:
            self.rest_folder = pathlib.Path(tempfile.mkdtemp(prefix="slurmrestd-"))
            self.rest_folder.chmod(0o755)
            shutil.copy(self.folder / "slurm.conf", self.rest_folder)
        return {**self.environment, "SLURM_CONF": str(self.rest_folder / "slurm.conf"), "SLURM_JWT": "daemon"}

    def begin_rest(self):
        """slurmrestd; its address."""
        self.begin("slurmrestd")
        self.until(lambda: is_open(self.rest_port), 20, "slurmrestd")
        return f"http://127.0.0.1:{self.rest_port}"

    def token(self, seconds=3600):
        """A JSON web token, in the form in which `scontrol token` prints it."""
        return self.run("scontrol", "token", f"lifespan={seconds}")

    # ---- commands ----

    def run(self, *arguments, timeout=60, check=True):
        done = subprocess.run(arguments, env=self.environment, capture_output=True, text=True, timeout=timeout, check=False)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(arguments)}: {done.returncode}: {done.stderr}")
        return done.stdout

    def is_idle(self):
        states = self.run("sinfo", "--noheader", "--Node", "--format=%T", check=False).split()
        return len(states) >= len(self.nodes) and set(states) <= {"idle", "mixed"}

    def jobs(self, states="PENDING,RUNNING,COMPLETING"):
        """[(id, name, state, node)] of the jobs in these states."""
        lines = self.run("squeue", "--noheader", f"--states={states}", "--format=%A|%j|%T|%N", check=False).splitlines()
        return [tuple(line.split("|")) for line in lines]

    def resume(self):
        """Takes nodes back that Slurm has drained, as an administrator would."""
        for node in self.nodes:
            self.run("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)

    def hurry(self):
        """Lets jobs start now that Slurm has put back into its queue for two minutes."""
        for line in self.run("squeue", "--noheader", "--states=PENDING", "--format=%A|%r", check=False).splitlines():
            number, reason = line.split("|", 1)
            if reason == "BeginTime":
                self.run("scontrol", "update", f"JobId={number}", "StartTime=now", check=False)

    def knows_its_jobs(self):
        """True if the state that slurmctld has written has them all: it writes it some seconds after a change. After a
        kill before that, it gives their numbers to other jobs, which nodes with the old ones refuse for two minutes."""
        try:
            saved = (self.folder / "state" / "job_state").read_bytes()
        except OSError:
            return False
        return all(name.encode() in saved for _, name, *_ in self.jobs())

    # ---- waiting ----

    def until(self, condition, seconds, what):
        end = time.monotonic() + 2 * seconds
        while not condition():
            for name, process in self.processes.items():
                if seconds >= 30 and process.poll():
                    said = (self.folder / f"{name}.out").read_text(errors="replace")
                    raise RuntimeError(f"{name} ended with {process.returncode}: {said[-2000:]}")
            if time.monotonic() > end:
                raise TimeoutError(f"{what}: not within {2 * seconds} s; see {self.folder}")
            time.sleep(0.1)

    def until_quietly(self, condition, seconds):
        with contextlib.suppress(Exception):
            self.until(condition, seconds, "")


if __name__ == "__main__":
    if missing():
        sys.exit(f"not installed: {', '.join(missing())}; ./dev setup slurm")
    with Cluster(sys.argv[1]) as here:
        print(f"export SLURM_CONF={here.folder}/slurm.conf", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
