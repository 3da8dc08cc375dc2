"""Replace what names people and machines in evidence, one thing by one name, and leave every number as it is.

Replaced are host names, users, folders and files, addresses of machines, mail addresses and secrets. A name is made of
a keyed hash; the key is thrown away. Words that lines are read by, program names, models' file names, units, process
ids, times, boots and cards stay, so the answers stay too.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from .regexes import Regex

__all__ = ["MASK", "Anonymizer", "masked", "split"]

MASK = "***"

VALUE = r"\"[^\"\n]+\"|'[^'\n]+'|\\\"[^\"\\\n]+\\\""
"""In quotes, also in those of a text in JSON."""
CALLED = r"[A-Za-z0-9_.-]{0,64}(?:KEY|TOKEN|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIAL|AUTH)[A-Za-z0-9_.-]{0,64}"
NEXT = r"(?:\\?['\"],[ ]*|(?:\\?['\"])?(?:[ ]|\\\n)[ ]*(?:\\\n[ ]*)?)"
"""Between an option and its value, also in a list; a unit file may go on in its next line."""
SECRETS = (
    # From its first line to its last (RFC 7468), or as far as it goes on where the last one is missing
    re.compile(
        r"(?P<keep>-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----)"
        r"(?P<gone>[^-]*(?:-(?!----)[^-]*)*(?=-----END )|(?:(?:\s|\\+[nr])+[A-Za-z0-9+/=]{16,})+)"
    ),
    re.compile(r"(?P<keep>\b[Bb]earer\s+)(?P<gone>[A-Za-z0-9._~+/=-]{8,})"),
    re.compile(r"(?i)(?P<keep>\bauthorization['\"]?\s*[=:]\s*['\"]?(?:[a-z]+[ ]+)?)(?P<gone>[^\s'\"]+)"),
    re.compile(r"(?P<keep>://)(?P<gone>[^\s/@]+)(?=@)"),
    re.compile(r"(?P<keep>[?&](?:sig|signature|code)=)(?P<gone>[^\s&'\"]+)"),
    re.compile(
        r"(?P<keep>(?<![A-Za-z0-9]))"
        r"(?P<gone>(?:hf_|sk-|sk_live_|gh[opsu]_|github_pat_|glpat-|gsk_|npm_|nvapi-|r8_|dckr_pat_|xox[abp]-|AKIA|ASIA|AIza)"
        r"[A-Za-z0-9_-]{12,}|ya29\.[\w.-]{12,}|eyJ[\w-]{8,999}\.eyJ[\w-]{8,}\.[\w-]*)"
    ),
    # 'api_key': ['value', 'value'] and api_key=['value', 'value'], as programs print what they were given
    re.compile(
        rf"(?i)(?P<keep>(?:['\"]{CALLED}['\"]\s*:|(?<![\w.-]){CALLED}\s*=)\s*\[\s*(?P<quote>\\?['\"]))"
        r"(?P<gone>[^\]\n]{1,999})(?=(?P=quote)\s*\])"
    ),
    # "NAME=two words", as units quote a whole assignment
    re.compile(rf"(?i)(?P<keep>\"{CALLED}=)(?P<gone>[^\"\n]+)(?=\")"),
    re.compile(rf"(?i)(?P<keep>'{CALLED}=)(?P<gone>[^'\n]+)(?=')"),
    # NAME=value and NAME: value, in unit files, environments and argument lists
    re.compile(
        rf"(?i)(?P<keep>(?<![\w.-]){CALLED}\s*[=:]\s*)(?!(?:bearer|basic|digest|token)\b|\[\s*\\?['\"])"
        rf"(?P<gone>{VALUE}|(?:[^\s\"',;)}}\]\\]|,(?=[^\s\"']))+)"
    ),
    re.compile(rf"(?P<keep>\b[A-Z0-9_]*(?:PASS|_PWD|COOKIE|JWT)=)(?P<gone>{VALUE}|[^\s\"'\\]+)"),
    # --api-key value and '--api-key', 'value'
    re.compile(
        r"(?i)(?P<keep>(?<![\w-])(?:--[a-z_-]{0,64}(?:key|token|secret|password|passwd|pass|auth|credential|bearer)s?|-hft)"
        rf"{NEXT})(?P<gone>{VALUE}|(?!-)[^\s\"'\\]+)"
    ),
    # -u user:password and --user 'user:password', as curl(1) takes them; no -u unit, and no --user 1000:1000
    re.compile(
        rf"(?P<keep>(?<![\w-])(?:-[A-Za-z]{{0,8}}[uU]|--(?:proxy-)?user)(?:=|{NEXT}))"
        r"(?=\\?['\"]?(?!-|\d+:\d+(?!\w))[^\s'\"/:\\]+:(?!//)[^\s'\"\\])"
        rf"(?P<gone>{VALUE}|[^\s\"'\\]+)"
    ),
    # 'api_key': 'value'
    re.compile(rf"(?i)(?P<keep>['\"]{CALLED}['\"]\s*:\s*)(?P<gone>{VALUE})"),
)
NO_SECRET = frozenset("none null true false 0 1 yes no".split())
"""Values that say whether there is a secret, and are none."""
COUNTED = re.compile(
    r"(?i)tokens|tokeniz|token_(?:id|type)|(?:bos|eos|eot|pad|unk|sep|cls|mask|first|last|next|per|output)[ _-]?token"
)
OPENS = re.compile(r"(?i)key|secret|pass|credential|auth|api|access|session|hf_")
"""What is counted or part of a vocabulary is no secret either, unless its name says that it opens something."""
NAMED = re.compile(r"secret-[0-9a-f]{8}")
"""A secret that has its name already."""
QUOTED = re.compile(r"(\\?['\"])(.*)\1")
KEY_BEGINS = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
KEY_ENDS = "-----END "
KEY_LINES = 2000
"""Most lines that one may take, with other fields and writers between them."""
KEY_PIECE = re.compile(
    r"(?<![\w+/=.-])(?![0-9a-f]+(?![\w+/=]))[A-Za-z0-9+/]{24,}={0,2}(?![\w+/=.-])"
    r"|(?<![\w+/=.-])[A-Za-z0-9+/]{2,23}={1,2}(?=\s*$|\\n)"
    r"|^\s*[A-Za-z0-9+/=]+\s*$"
)
"""What its lines are: long, or padded at their end, or nothing else."""
DIGITS = re.compile(r"[-+]?[\d.,]+%?")

MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
IPV4 = re.compile(
    r"(?<![\w.-])(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?![\w-]|\.\d)"
)
NOT_AN_ADDRESS = re.compile(r"(?i)(?:version|ver|v|driver|release|build|cuda|nccl|cudnn|torch)[ :=-]*$")
CLOCK = re.compile(r" [A-Z] ")
"""A level behind it: four numbers that are a program's own clock."""
ENVELOPE = re.compile(r".{0,200}?(?:\]: |: |\| | [FP] )")
"""What a collector puts before a line."""
IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:.])")
MAC = re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])")

PATH = re.compile(
    # In quotes a path may hold blanks; what goes on with an option or another path is a command.
    r"(?P<quote>['\"])(?P<quoted>~?(?:/(?:[^'\"\n/ ]|[ ](?![-/]))+)+)(?P=quote)"
    r"|(?:(?<![\w/.<~-])|(?<=file://))(?P<bare>~?(?:/[\w.@+=%~,-]+){2,})"
)
FOLDER = r"(?:(?:[^\\/:*?\"<>|\s']|[ ](?![-\\/])){1,255}(?=\\)|[^\\/:*?\"<>|\s']{1,255}(?=/))"
"""Of Windows; its name may hold blanks."""
FILE = r"[^\\/:*?\"<>|\s']{1,255}"
BEFORE = r"(?<![^\s\"'=(\[,;:<>])"
WINDOWS_PATH = re.compile(
    # C:\folder\file and \\server\share, or with each \ twice, as JSON writes them
    r"(?<=['\"])[A-Za-z]:(?:\\{1,2}(?:[^\\/:*?\"<>|\n' ]|[ ](?!-)){1,255}){2,}(?=\\?['\"])"
    rf"|(?<!\w)[A-Za-z]:(?:(?:\\{{1,2}}|/){FOLDER})+(?:\\{{1,2}}|/)(?:{FILE})?"
    rf"|{BEFORE}\\\\[\w.-]{{2,63}}(?:\\{FOLDER})*\\{FILE}"
    rf"|{BEFORE}\\\\\\\\[\w.-]{{2,63}}(?:\\\\{FOLDER})*\\\\{FILE}"
)
URL_HOST = re.compile(
    r"(?P<keep>[a-z][a-z0-9+.-]{1,12}://(?:[^\s/@]*@)?)(?P<host>[A-Za-z][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)*)"
)
PUBLIC = frozenset("localhost huggingface.co hf.co github.com pytorch.org".split())
USER = re.compile(
    r"(?P<keep>\b(?:User|Group|USER|LOGNAME|SUDO_USER)=|\b(?:for|by|of) user |\buser=)(?P<gone>[A-Za-z_][\w.-]{1,31})"
)
VERB = re.compile(r"(?:GET|HEAD|POST|PUT|DELETE|PATCH|OPTIONS)[\s\"'|]*$")
ROUTES = frozenset("v1 v2 api health healthz metrics props slots chat completion completions".split())
"""First pieces of what is asked of a server: no folders."""
KNOWN = frozenset(
    "bin sbin usr local lib lib64 libexec opt etc var run srv home root mnt media data proc dev sys tmp snap boot "
    "share cache log journal system systemd user dist-packages site-packages models blobs manifests "
    "Users Windows System32 AppData Local".split()
)
"""Folders that every machine has: they tell nothing, and programs are known by them."""
MODEL = re.compile(r"(?i)\.(?:gguf|ggml|safetensors|bin|pt|pth|mmproj)$|^sha256-[0-9a-f]{12,}")
SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,12}$")

FIELD = re.compile(rb"[A-Z0-9_]{1,64}")
KEPT_FIELDS = re.compile(
    rb"__(?:CURSOR|REALTIME_TIMESTAMP|MONOTONIC_TIMESTAMP|SEQNUM|SEQNUM_ID)|_(?:PID|UID|GID|BOOT_ID|TRANSPORT|"
    rb"STREAM_ID|SYSTEMD_UNIT|SYSTEMD_USER_UNIT|SYSTEMD_SLICE|SYSTEMD_CGROUP|SYSTEMD_INVOCATION_ID|"
    rb"CAP_EFFECTIVE|SOURCE_\w+|RUNTIME_SCOPE)|PRIORITY|SYSLOG_(?:FACILITY|IDENTIFIER|PID|TIMESTAMP)|UNIT|USER_UNIT|INVOCATION_ID|JOB_\w+|EXIT_\w+|"
    rb"MESSAGE_ID|CODE_\w+|TID|N_RESTARTS|CPU_USAGE_NSEC|MEMORY_\w+|IO_\w+|COREDUMP_(?:PID|UID|GID|SIGNAL\w*|UNIT)"
)
HOST_FIELDS = frozenset({b"_HOSTNAME"})
ID_FIELDS = frozenset({b"_MACHINE_ID"})


def masked(text: str) -> str:
    """A text without its secrets: values of what is called key, token, secret or password."""
    return _secrets(text, lambda _: MASK)


def _secrets(text: str, name: Callable[[str], str]) -> str:
    for pattern in SECRETS:

        def gone(found: re.Match[str]) -> str:
            keep, value = found["keep"], found["gone"]
            quoted = QUOTED.fullmatch(value)
            quote, bare = quoted.groups() if quoted else ("", value)
            if (
                bare == MASK
                or NAMED.fullmatch(bare)
                or bare.lower() in NO_SECRET
                or DIGITS.fullmatch(bare)
                or (COUNTED.search(keep) and not OPENS.search(keep))
                or not bare
            ):
                return found[0]
            return f"{keep}{quote}{name(bare)}{quote}"

        text = pattern.sub(gone, text)
    return text


class Anonymizer:
    """Names for what is not to be named, stable under one key.

    Args:
        key: Whoever has it can tell whether a name stands for a guess.
        hosts: Host names of the machine; those in journals are learned from their field.
        programs: What a program's file is called: such a name stays.
        prefix: Takes a line's prefix off, or gives None: clocks look like addresses.
        public: Hosts that everybody knows, beside those of this module.
        words: What lines are read by: a host that is called so is replaced only as it is written itself.
    """

    def __init__(
        self,
        key: bytes,
        hosts: Iterable[str] = (),
        programs: Sequence[Regex] = (),
        prefix: Callable[[str], str | None] | None = None,
        public: Iterable[str] = (),
        words: Iterable[str] = (),
    ) -> None:
        self.key = key
        self.programs = programs
        self.prefix = prefix
        self.public = PUBLIC.union(public)
        self.words = frozenset(word.lower() for word in words)
        self.hosts: set[str] = set()
        self.key_lines = 0
        for host in hosts:
            self.learn(host)

    def learn(self, host: str) -> None:
        """A host name to be replaced wherever it stands as a word of its own."""
        for name in (host, host.partition(".")[0]):
            if len(name) > 1 and name != "localhost":
                self.hosts.add(name)
        if self.hosts:
            names = sorted(self.hosts, key=len, reverse=True)
            self._host = re.compile(r"(?i)(?<![\w.-])(?:" + "|".join(map(re.escape, names)) + r")(?![\w-])")

    def digest(self, text: str, letters: int) -> str:
        """A name's hash under the key."""
        return hmac.new(self.key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:letters]

    # -- texts --------------------------------------------------------------------------------------------------------

    def data(self, content: bytes) -> bytes:
        """A file's content: a journal export entry by entry, anything else line by line."""
        if content.startswith((b"__CURSOR=", b"__REALTIME_TIMESTAMP=")):
            return self.export(content)
        self.key_lines = 0
        text = content.decode("utf-8", "surrogateescape")
        return "\n".join(map(self.line, text.split("\n"))).encode("utf-8", "surrogateescape")

    def line(self, text: str) -> str:
        """One line: its prefix stays as it is. A private key may have begun in a line before."""
        if self.key_lines:
            self.key_lines = 0 if KEY_ENDS in text else self.key_lines - 1
            text = KEY_PIECE.sub(lambda found: f"secret-{self.digest(found[0].strip(), 8)}", text)
        elif KEY_BEGINS.search(text, max(0, text.rfind(KEY_ENDS))):
            self.key_lines = KEY_LINES
        begin = 0
        for start in (0, *(found.end() for found in ENVELOPE.finditer(text[:400]))):
            message = self.prefix(text[start:]) if self.prefix is not None else None
            if message is not None and message != text[start:] and text.endswith(message):
                begin = start
                break
        else:
            return self.text(text)
        kept = text[begin : len(text) - len(message)]
        return self.text(text[:begin]) + self._named(kept) + self.text(message)

    def text(self, text: str) -> str:
        """A text without what names people and machines."""
        text = _secrets(text, lambda secret: f"secret-{self.digest(secret, 8)}")
        text = MAIL.sub(lambda found: f"user-{self.digest(found[0], 6)}@mail.invalid", text)
        text = URL_HOST.sub(self._url_host, text)
        text = USER.sub(lambda found: found["keep"] + f"user-{self.digest(found['gone'], 6)}", text)
        text = WINDOWS_PATH.sub(self._windows_path, text)
        text = PATH.sub(self._path, text)
        text = IPV4.sub(self._ipv4, text)
        text = MAC.sub(self._mac, text)
        text = IPV6.sub(self._ipv6, text)
        return self._named(text)

    def _named(self, text: str) -> str:
        return self._host.sub(self._host_name, text) if self.hosts else text

    def _host_name(self, found: re.Match[str]) -> str:
        name = found[0]
        return name if name not in self.hosts and name.lower() in self.words else self._named_host(name)

    def _named_host(self, name: str) -> str:
        """One name however it is written: case means nothing in it (RFC 4343)."""
        return f"host-{self.digest(name.lower(), 6)}"

    def _url_host(self, found: re.Match[str]) -> str:
        host = found["host"]
        return found[0] if host.lower() in self.public else found["keep"] + self._named_host(host)

    def _path(self, found: re.Match[str]) -> str:
        quote = found["quote"] or ""
        path = found["quoted"] if quote else found["bare"]
        first = path.lstrip("~").split("/")[1] if "/" in path else ""
        if first in ROUTES or VERB.search(found.string[max(0, found.start() - 12) : found.start()]):
            return found[0]
        pieces = path.split("/")
        if len(pieces) < 3 and not path.startswith("~"):
            return found[0]
        named = [self._piece(piece, place, pieces) for place, piece in enumerate(pieces)]
        return quote + "/".join(named) + quote

    def _windows_path(self, found: re.Match[str]) -> str:
        path = found[0]
        if "\\" not in path:
            return path  # C:/folder/file is a path of the other kind
        root = re.match(r"\\+", path)
        begin = root.end() if root else 0
        pieces = re.split(r"([\\/]+)", path[begin:])
        first = self._named_host(pieces[0]) if root else pieces[0]
        names = pieces[::2]
        named = [first, *(self._piece(piece, place, names) for place, piece in enumerate(names) if place)]
        return path[:begin] + "".join(map(str.__add__, named, [*pieces[1::2], ""]))

    def _piece(self, piece: str, place: int, pieces: Sequence[str]) -> str:
        is_last = place == len(pieces) - 1
        in_home = place > 0 and pieces[place - 1] in ("home", "Users") and place <= 2
        bare = piece.rstrip(".,:;)")
        if not bare or bare in (".", "..", "~") or (not in_home and self._kept(bare, is_last)):
            return piece
        if bare.isdigit():
            return piece
        if is_last and (link := re.match(r"(?P<name>[^?#]+)(?P<rest>[?#].*)$", bare)):
            bare = link["name"]
        suffix = SUFFIX.search(bare) if is_last else None
        return f"x{self.digest(bare, 8)}{suffix[0] if suffix else ''}{piece[len(bare) :]}"

    def _kept(self, piece: str, is_last: bool) -> bool:
        if piece in KNOWN or re.fullmatch(r"python[\d.]*|card\d+|nvidia\w*|GPU-[\w-]+", piece):
            return True
        if any(one.search(piece.removeprefix(".")) for one in self.programs):
            return True
        return is_last and MODEL.search(piece) is not None

    def _ipv4(self, found: re.Match[str]) -> str:
        text = found[0]
        before = found.string[max(0, found.start() - 12) : found.start()]
        address = ipaddress.IPv4Address(text)
        if CLOCK.match(found.string, found.end()):
            return text
        if address.is_loopback or address.is_unspecified or NOT_AN_ADDRESS.search(before):
            return text
        number = int(self.digest(text, 8), 16)
        kind = 10 if address.is_private else 198
        return f"{kind}.{number >> 16 & 255}.{number >> 8 & 255}.{1 + number % 254}"

    def _ipv6(self, found: re.Match[str]) -> str:
        text = found[0]
        try:
            address = ipaddress.IPv6Address(text)
        except ValueError:
            return text
        if address.is_loopback or address.is_unspecified or not re.search(r"[0-9A-Fa-f]{3}", text):
            return text
        digest = self.digest(text, 12)
        return f"fd00::{digest[:4]}:{digest[4:8]}:{digest[8:]}"

    def _mac(self, found: re.Match[str]) -> str:
        digest = self.digest(found[0], 10)
        return ":".join(["02", *(digest[place : place + 2] for place in range(0, 10, 2))])

    # -- journals -----------------------------------------------------------------------------------------------------

    def export(self, content: bytes) -> bytes:
        """A journal in export format, field by field."""
        for name, value, _ in split(content):
            if name in HOST_FIELDS:
                self.learn(value.decode("utf-8", "replace"))
        out = bytearray()
        for name, value, binary in split(content):
            if not name:
                out += b"\n"
                continue
            new = self._field(name, value)
            if binary or b"\n" in new:
                out += name + b"\n" + len(new).to_bytes(8, "little") + new + b"\n"
            else:
                out += name + b"=" + new + b"\n"
        return bytes(out)

    def _field(self, name: bytes, value: bytes) -> bytes:
        text = value.decode("utf-8", "surrogateescape")
        if name in HOST_FIELDS:
            return self._named(text).encode("utf-8", "surrogateescape")
        if name in ID_FIELDS:
            return self.digest(text, 32).encode()
        if KEPT_FIELDS.fullmatch(name):
            return value
        return "\n".join(map(self.line, text.split("\n"))).encode("utf-8", "surrogateescape")


def split(content: bytes) -> Iterator[tuple[bytes, bytes, bool]]:
    """Fields of an export as name, value and whether it was written with its length; an empty name ends an entry."""
    place = 0
    while place < len(content):
        end = content.find(b"\n", place)
        if end < 0:
            end = len(content)
        line = content[place:end]
        name, equals, value = line.partition(b"=")
        if not line:
            yield b"", b"", False
            place = end + 1
        elif equals:
            yield name, value, False
            place = end + 1
        else:
            size = int.from_bytes(content[end + 1 : end + 9], "little")
            yield line, content[end + 9 : end + 9 + size], True
            place = end + 9 + size + 1
