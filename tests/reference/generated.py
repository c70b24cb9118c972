"""Strings from a random generator that tests/support/generated.h has as well, so that only hashes need to be kept.

The recipe (ranges of code points with weights, fixed snippets) is data/generated_strings.json; the random numbers are
SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
"""
import json
import pathlib

MASK = (1 << 64) - 1
DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
RECIPE = json.loads((DATA / "generated_strings.json").read_text(encoding="utf-8"))


class SplitMix64:
    def __init__(self, seed):
        self.state = seed & MASK

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, limit):
        return self.next() % limit


def pick(random, weighted):
    at = random.below(sum(weight for weight, *_ in weighted))
    for weight, *rest in weighted:
        if at < weight:
            return rest
        at -= weight
    raise AssertionError


def generate(index, words):
    """String number `index`. `words` are ordinary words to mix in; an empty list leaves them out."""
    random = SplitMix64(index)
    longest = pick(random, RECIPE["lengths"])[0]
    out = []
    for _ in range(random.below(longest + 1)):
        kind, first, last = pick(random, RECIPE["ranges"])
        if kind == "snippet":
            out.append(RECIPE["snippets"][random.below(len(RECIPE["snippets"]))])
        elif kind == "word":
            number = random.next()
            if words:
                out.append(words[number % len(words)])
        else:
            code = first + random.below(last - first + 1)
            if not 0xD800 <= code <= 0xDFFF:
                out.append(chr(code))
    return "".join(out)


def fnv1a(data, hash=0xCBF29CE484222325):
    for byte in data:
        hash = ((hash ^ byte) * 0x100000001B3) & MASK
    return hash


def hash_ids(ids):
    return fnv1a(b"".join(id.to_bytes(4, "little") for id in ids))
