"""Cost of calling rewise from Python: the import, a run compared with the program, and the
overhead of a call.

    PYTHONPATH=build/dev/python build/python/bin/python tests/bench/python_calls.py build/dev/rewise

"""

import resource
import statistics
import subprocess
import sys
import time
import warnings

import rewise as rw


def best(call, times=5):
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def python(code):
    return subprocess.run([sys.executable, "-c", code], check=True)


def import_seconds():
    # Includes the modules that simulate() loads; the start of Python itself is subtracted.
    return best(lambda: python("import rewise as rw; rw.simulate, rw.rewire"), 7) - best(
        lambda: python("pass"), 7)


def cpu_seconds(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def run_against_program(program):
    """Median CPU seconds of the program and of Python for the same run on one thread. The two
    alternate."""
    words = [program, "run", "--size", "256", "--p", "0.01", "--temperature", "2.4", "--measure",
             "100", "--equilibrate", "0", "--device", "cpu", "--threads", "1"]
    seconds = [[], []]
    for _ in range(11):
        begin = cpu_seconds(resource.RUSAGE_CHILDREN)
        subprocess.run(words, check=True, capture_output=True)
        seconds[0].append(cpu_seconds(resource.RUSAGE_CHILDREN) - begin)
        begin = cpu_seconds(resource.RUSAGE_SELF)
        results = rw.simulate(rw.rewire(256, p=0.01), 2.4, measure=100, equilibrate=0, device="cpu",
                              threads=1)
        results.rows()
        seconds[1].append(cpu_seconds(resource.RUSAGE_SELF) - begin)
    return [statistics.median(one) for one in seconds]


def overhead_of_a_call(edge, calls):
    """Median CPU seconds of this thread per sweep: in calls of one sweep each, and in one call of
    as many sweeps. The two alternate."""
    simulation = rw.Simulation(rw.rewire(edge, p=0.01), 2.4, schedule="1:0", device="cpu",
                               threads=1)
    simulation.run(10)
    alone, together = [], []
    for _ in range(200):
        begin = time.thread_time()
        for _ in range(calls):
            simulation.run()
        middle = time.thread_time()
        simulation.run(calls)
        alone.append((middle - begin) / calls)
        together.append((time.thread_time() - middle) / calls)
    return statistics.median(alone), statistics.median(together)


def main():
    warnings.simplefilter("ignore")  # the runs are too short to reach equilibrium
    print(f"import and names: {import_seconds():.3f} s")
    program, package = run_against_program(sys.argv[1])
    print(f"L = 256, p = 0.01, 100 cycles: program {program:.3f} s, Python {package:.3f} s "
          f"({100 * (package / program - 1):+.1f} %)")
    for edge, calls in ((8, 1000), (1024, 5)):
        alone, together = overhead_of_a_call(edge, calls)
        print(f"L = {edge}, 200 times {calls} calls of one sweep: {1e6 * alone:.1f} us each, "
              f"in one call {1e6 * together:.1f} us: {1e6 * (alone - together):.1f} us a call")


if __name__ == "__main__":
    main()
