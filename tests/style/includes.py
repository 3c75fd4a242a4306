"""Checks that includes lead to lower layers only: a file includes files of its own folder and of
folders on lower layers, but not of other folders on the same layer. Therefore engines do not depend
on each other or on the store, analysis does not depend on engines, graphs or files, and what runs
tasks (src/study) and what evaluates them (src/results) do not depend on each other. The same holds
for declarations of classes that other files define. Also checks that quoted includes are paths from
the root of the repository, and that no CUDA file includes a header that nvcc cannot compile.

    includes.py ROOT
    includes.py ROOT --cuda     lists the headers that only a build with CUDA can compile
"""

import collections
import pathlib
import re
import sys

import tree

THIS_FILE = "tests/style/includes.py"
LAYERS = {
    "src/base": 0,
    "src/random": 1, "src/cuda": 1, "src/distributed": 1,
    "graphs": 2, "src/model": 2,
    "src/label": 3, "analysis": 3,
    "src/engine": 4,
    "src/multispin": 5, "src/bytespin": 5, "src/bitlattice": 5, "src/store": 5,
    "src/settings": 6,
    "src/results": 7, "src/study": 7,
    "src/curves": 8,
    "src/search/tune": 9, "src/search/sweep": 11, "src/search/tc": 12,  # before their folder
    "src/search": 10,
    "src/python": 13,
    "experiments/console": 14,
    "experiments/commands": 15,
    "experiments/main.cpp": 16,
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
CLASS = re.compile(r"^(?:class|struct|enum class) (?:\w+::)*(\w+)[^;{()]*([;{])", re.MULTILINE)
# fmt's headers fail under nvcc at C++20; the others are host libraries.
NOT_FOR_NVCC = re.compile(r"^(fmt|CLI|toml\+\+|nlohmann|boost|Eigen|catch2)/|^hdf5\.h$|^omp\.h$")
OF_CUDA = re.compile(r"^(cuda|cub/|thrust/|cooperative_groups|curand|nccl|nvml|nvtx3/)")
ONLY_WITH_CUDA = re.compile(r"^#if defined\(REWISE_HAVE_CUDA\)\n.*?^#e(?:lse|ndif)",
                            re.MULTILINE | re.DOTALL)
NOT_FOR_ANALYSIS = re.compile(r"^(fstream|filesystem|cstdio|hdf5\.h)$")


def folder_of(name):
    """The folder in LAYERS to which a file belongs, or None (tests have no layer)."""
    for folder in LAYERS:
        if name == folder or name.startswith(folder + "/"):
            return folder
    return None


def includes_in(text):
    return [(quote == '"', target) for quote, target in INCLUDE.findall(text)]


def includes_of(root, name):
    return includes_in((root / name).read_text(encoding="utf-8"))


def direction_fault(name, target):
    """The reason why `name` may not include `target` (paths from the root), or None."""
    own, other = folder_of(name), folder_of(target)
    if own is None or own == other:
        return None
    if other is None:
        return f"{name}: includes {target}, which product code must not include"
    if LAYERS[other] >= LAYERS[own]:
        return (f"{name}: layer {LAYERS[own]} ({own}) includes {target} "
                f"on layer {LAYERS[other]} ({other})")
    return None


def declaration_faults(texts):
    """Finds files that declare a class whose definition they may not include."""
    defined, declared = collections.defaultdict(set), []
    for name, text in texts.items():
        for word, end in CLASS.findall(text):
            if end == "{":
                defined[word].add(name)
            else:
                declared.append((name, word))
    for name, word in declared:
        faults = [direction_fault(name, target) for target in sorted(defined[word])]
        if faults and all(faults):
            yield f"{name}: declares {word}; {faults[0]}"


def seen_by_nvcc(root, includes):
    """{file: chain of includes that leads to it} for all files that .cu and .cuh files include,
    directly or indirectly."""
    chains = {name: [name] for name in includes if name.endswith((".cu", ".cuh"))}
    todo = list(chains)
    while todo:
        name = todo.pop()
        for quoted, target in includes.get(name, []):
            if quoted and target in includes and target not in chains:
                chains[target] = chains[name] + [target]
                todo.append(target)
    return chains


def cuda_headers(root):
    """Every header that includes a CUDA header, directly or indirectly. Includes that a build
    without CUDA skips do not count."""
    includes = {}
    for name in tree.sources(root):
        text = ONLY_WITH_CUDA.sub("", (root / name).read_text(encoding="utf-8"))
        includes[name] = includes_in(text)
    users = collections.defaultdict(list)
    for name, targets in includes.items():
        for quoted, target in targets:
            if quoted:
                users[target].append(name)
    found = {name for name, targets in includes.items()
             if any(not quoted and OF_CUDA.match(target) for quoted, target in targets)}
    todo = list(found)
    while todo:
        for name in users[todo.pop()]:
            if name not in found:
                found.add(name)
                todo.append(name)
    return sorted(name for name in found if name.endswith(".hpp"))


def check(root):
    includes = {name: includes_of(root, name) for name in tree.sources(root)}
    faults = list(declaration_faults(
        {name: (root / name).read_text(encoding="utf-8") for name in includes}))
    for name, targets in includes.items():
        folder = folder_of(name)
        if name.startswith(("src/", "experiments/")) and folder is None:
            faults.append(f"{name}: its folder has no layer; give it one in {THIS_FILE}")
        for quoted, target in targets:
            if quoted:
                generated = (root / (target + ".in")).is_file()
                if not generated and not (root / target).is_file():
                    faults.append(f'{name}: "{target}" is not a path from the root of the '
                                  "repository")
                fault = direction_fault(name, target)
                if fault:
                    faults.append(fault)
            elif folder == "analysis" and NOT_FOR_ANALYSIS.match(target):
                faults.append(f"{name}: analysis must not read or write files, but includes "
                              f"<{target}>")
    for name, chain in seen_by_nvcc(root, includes).items():
        for quoted, target in includes[name]:
            if not quoted and NOT_FOR_NVCC.match(target):
                faults.append(f"{' -> '.join(chain)}: <{target}> does not compile under nvcc")
    return tree.finish(faults, len(includes))


if __name__ == "__main__":
    if sys.argv[2:] == ["--cuda"]:
        print("\n".join(cuda_headers(pathlib.Path(sys.argv[1]))))
        sys.exit()
    sys.exit(check(pathlib.Path(sys.argv[1])))
