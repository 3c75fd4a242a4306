"""What calling rewise from Python costs: import, a run against the program's, a call of one sweep.

    PYTHONPATH=build/dev/python build/python/bin/python tests/bench/python_calls.py build/dev/rewise

Best of several, since other work on the machine only makes a time longer.
"""

import subprocess
import sys
import time

import numpy as np

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
    # Everything that simulate() needs; less what Python itself takes to start.
    return best(lambda: python("import rewise as rw; rw.simulate, rw.rewire"), 7) - best(
        lambda: python("pass"), 7)


def run_against_program(program):
    words = [program, "run", "--size", "256", "--p", "0.01", "--temperature", "2.4", "--measure",
             "100", "--equilibrate", "0", "--device", "cpu"]
    best_of_both = [1e9, 1e9]
    for _ in range(7):  # in turns
        begin = time.perf_counter()
        subprocess.run(words, check=True, capture_output=True)
        best_of_both[0] = min(best_of_both[0], time.perf_counter() - begin)
        begin = time.perf_counter()
        results = rw.simulate(rw.rewire(256, p=0.01), 2.4, measure=100, equilibrate=0, device="cpu")
        results.rows()
        best_of_both[1] = min(best_of_both[1], time.perf_counter() - begin)
    return best_of_both


def overhead_of_a_call(edge, calls=1000):
    """Calls of one sweep each, and as many sweeps in one call: seconds per sweep of both."""
    simulation = rw.Simulation(rw.rewire(edge, p=0.01), 2.4, schedule="1:0", device="cpu",
                               threads=1)
    simulation.run(10)

    def one_by_one():
        for _ in range(calls):
            simulation.run()

    alone, together = [], []
    for _ in range(3):
        alone.append(best(one_by_one, 1))
        together.append(best(lambda: simulation.run(calls), 1))
    return min(alone) / calls, min(together) / calls


def main():
    print(f"import and names: {import_seconds():.3f} s")
    program, package = run_against_program(sys.argv[1])
    print(f"L = 256, p = 0.01, 100 cycles: program {program:.3f} s, Python {package:.3f} s "
          f"({100 * (package / program - 1):+.1f} %)")
    for edge, calls in ((8, 20000), (1024, 1000)):
        alone, together = overhead_of_a_call(edge, calls)
        print(f"L = {edge}, {calls} calls of one sweep: {1e6 * alone:.1f} us each, in one call "
              f"{1e6 * together:.1f} us: {1e6 * (alone - together):.1f} us a call")
    assert np.isfinite(program)


if __name__ == "__main__":
    main()
