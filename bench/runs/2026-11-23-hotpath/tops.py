"""Of folded stacks: the lines that are on top, and their parts."""

import collections
import sys

tops = collections.Counter()
for line in sys.stdin:
    stack, weight = line.rsplit(" ", 1)
    tops[stack.rsplit(";", 1)[-1]] += int(weight)
for top, weight in tops.most_common(5):
    print(f"{100 * weight / tops.total():5.1f} % {top}")
