"""Rules `arrow` and `third-party`: who includes whom (arrows.txt)."""
import fnmatch
import pathlib
import re

from tree import Finding

TABLE = pathlib.Path(__file__).with_name("arrows.txt")

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)

_STANDARD = frozenset("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono
cinttypes climits clocale cmath codecvt compare complex concepts condition_variable coroutine
csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque
exception execution filesystem format forward_list fstream functional future initializer_list
iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource
mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator
semaphore set shared_mutex source_location span sstream stack stdexcept stop_token streambuf string
string_view strstream syncstream system_error thread tuple type_traits typeindex typeinfo
unordered_map unordered_set utility valarray variant vector version
assert.h ctype.h errno.h fenv.h float.h inttypes.h limits.h locale.h math.h setjmp.h signal.h
stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h time.h uchar.h wchar.h
dirent.h dlfcn.h elf.h endian.h execinfo.h fcntl.h getopt.h glob.h grp.h ifaddrs.h link.h malloc.h
netdb.h poll.h pthread.h pwd.h sched.h semaphore.h spawn.h strings.h syslog.h termios.h ucontext.h
unistd.h
""".split())
_SYSTEM_FOLDERS = ("sys/", "net/", "netinet/", "arpa/", "linux/", "asm/")


class Arrows:
    """The table: lines of (patterns of files, verb, operands)."""

    def __init__(self, text):
        self.rows = []
        for line in text.splitlines():
            line = line.split("#", 1)[0].strip()
            if line:
                files, verb, *operands = line.split()
                if verb not in ("->", "uses", "refuses"):
                    raise ValueError(f"arrows.txt: {line}: expected ->, uses or refuses")
                self.rows.append((files, verb, operands))

    def of(self, file, verb):
        """What the rows with this verb say of a file; None when no row names it."""
        rows = [operands for files, row_verb, operands in self.rows
                if row_verb == verb and file.matches([files])]
        return [operand for operands in rows for operand in operands] if rows else None


def check(tree):
    arrows = Arrows(TABLE.read_text(encoding="utf-8"))
    return [finding for file in tree.cpp() for finding in check_file(tree, arrows, file)]


def check_file(tree, arrows, file):
    places = arrows.of(file, "->")
    if places is None:
        yield Finding(file.path, 1, "arrow", "its folder has no line in tools/lint/arrows.txt")
        return
    for match in _INCLUDE.finditer(file.text):
        quote, header = match.groups()
        line = file.text.count("\n", 0, match.start()) + 1
        if quote == '"' or header.startswith("zhinu/"):
            fault = _project_fault(tree, file, header, places)
            rule = "arrow"
        else:
            fault = _angle_fault(arrows, file, header)
            rule = "third-party"
        if fault:
            yield Finding(file.path, line, rule, fault)


def _project_fault(tree, file, header, places):
    target = next((path for path in (f"src/{header}", f"include/{header}", header)
                   if tree.has(path)), None)
    if target is None:
        return f'"{header}" is no file of src/, include/ or the root'
    own = "/".join(file.path.split("/")[:2])
    if any(target == place or target.startswith(place + "/") for place in [own, *places]):
        return None
    allowed = " ".join(places) or "nothing"
    return f'"{header}": {own} may include {allowed}'


def _angle_fault(arrows, file, header):
    refused = arrows.of(file, "refuses") or []
    if any(fnmatch.fnmatch(header, pattern) for pattern in refused) and not file.is_test():
        return f"<{header}> is refused here: time, threads and input come as arguments"
    if header in _STANDARD or header.startswith(_SYSTEM_FOLDERS):
        return None
    used = arrows.of(file, "uses") or []
    if any(fnmatch.fnmatch(header, pattern) for pattern in used):
        return None
    return f"<{header}> is not listed for this file in tools/lint/arrows.txt"
