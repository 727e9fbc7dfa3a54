"""Bytes to begin with: good requests, requests that two readers could take for different ones, answers, event streams."""

HOST = b"Host: a\r\n"
AFTER = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
"""Follows every refused request: whoever reads it as a request of its own has been deceived."""


def _post(fields: bytes, body: bytes = b"", line: bytes = b"POST /call HTTP/1.1") -> bytes:
    return line + b"\r\n" + HOST + fields + b"\r\n" + body


def _te(value: bytes, name: bytes = b"Transfer-Encoding: ") -> bytes:
    return _post(name + value + b"\r\n", b"0\r\n\r\n")


def _chunks(body: bytes) -> bytes:
    return _post(b"Transfer-Encoding: chunked\r\n", body)


def _length(value: bytes) -> bytes:
    return _post(b"Content-Length: " + value + b"\r\n", b"hello")


def _field(line: bytes) -> bytes:
    return b"GET /call HTTP/1.1\r\n" + HOST + line + b"\r\n\r\n"


def _get(line: bytes, fields: bytes = HOST) -> bytes:
    return line + b"\r\n" + fields + b"\r\n"


VALID: dict[str, bytes] = {
    "GET": _get(b"GET /call HTTP/1.1"),
    "query and escapes": _get(b"GET /call?a=b&c=%20/?:@ HTTP/1.1"),
    "empty line before the request line": b"\r\n" + _get(b"GET /call HTTP/1.1"),
    "Content-Length": _length(b"5"),
    "Content-Length with leading zeros": _length(b"0005"),
    "Content-Length with white space around": _post(b"Content-Length: \t 5 \t\r\n", b"hello"),
    "Content-Length 0": _post(b"Content-Length: 0\r\n"),
    "POST without a body": _post(b""),
    "chunked": _chunks(b"5\r\nhello\r\n0\r\n\r\n"),
    "chunked in capitals": _post(b"TRANSFER-ENCODING: CHUNKED\r\n", b"5\r\nhello\r\n0\r\n\r\n"),
    "chunked with white space around": _post(b"Transfer-Encoding: \t chunked \r\n", b"5\r\nhello\r\n0\r\n\r\n"),
    "chunk size in capitals with leading zeros": _chunks(b"000A\r\n0123456789\r\n000\r\n\r\n"),
    "chunk extensions": _chunks(b'5;a;b=c;d="e f"\r\nhello\r\n0;last\r\n\r\n'),
    "trailers": _post(b"Transfer-Encoding: chunked\r\nTrailer: x-sum\r\n", b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"),
    "trailers that name what only heads have": _chunks(b"5\r\nhello\r\n0\r\nHost: b\r\nAuthorization: x\r\n\r\n"),
    "trailers that offer an upgrade": _chunks(b"5\r\nhello\r\n0\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"),
    "absolute form": _get(b"GET http://a/call HTTP/1.1"),
    "absolute form with port and query": _get(b"GET http://a:8080/call?x HTTP/1.1", b"Host: a:8080\r\n"),
    "asterisk form": _get(b"OPTIONS * HTTP/1.1"),
    "Host with white space around": _get(b"GET /call HTTP/1.1", b"Host: \t a \t\r\n"),
    "Host with port": _get(b"GET /call HTTP/1.1", b"Host: a.example:8080\r\n"),
    "Host as an IPv6 address": _get(b"GET /call HTTP/1.1", b"Host: [::1]:8080\r\n"),
    "Host without value": _get(b"GET /call HTTP/1.1", b"Host:\r\n"),
    "empty value": _field(b"X:"),
    "value with tab inside": _field(b"X: a\tb"),
    "value with bytes above 127": _field(b"X: caf\xc3\xa9"),
    "name of odd but allowed characters": _field(b"!#$%&'*+-.^_`|~9: x"),
    "repeated field": _field(b"Accept: a\r\naccept: b"),
    "HTTP/1.0": _get(b"GET /call HTTP/1.0", b""),
    "HTTP/1.0 with Host and keep-alive": _get(b"GET /call HTTP/1.0", HOST + b"Connection: keep-alive\r\n"),
    "HTTP/1.0 with a body": b"POST /call HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello",
    "Connection: close": _field(b"Connection: close"),
    "an offer to upgrade": _post(b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 5\r\n", b"hello"),
    "Expect": _post(b"Expect: 100-continue\r\nContent-Length: 5\r\n", b"hello"),
    "words of framing in other fields": _field(b"X-Transfer-Encoding: chunked\r\nX-Content-Length: 5"),
    "pipelined": _length(b"5") + _get(b"GET /second HTTP/1.1") + _chunks(b"2\r\nhi\r\n0\r\n\r\n"),
}
"""Requests that are served."""

DESYNC: dict[str, bytes] = {
    # Two ways to tell where the body ends (RFC 9112, section 6.3)
    "CL.TE": _post(b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "TE.CL": _post(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"0\r\n\r\n"),
    "CL 0 and TE": _post(b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "CL and TE of another coding": _post(b"Content-Length: 5\r\nTransfer-Encoding: gzip\r\n", b"hello"),
    "CL and TE identity": _post(b"Content-Length: 5\r\nTransfer-Encoding: identity\r\n", b"hello"),
    "CL and empty TE": _post(b"Content-Length: 5\r\nTransfer-Encoding:\r\n", b"hello"),
    "CL and TE in capitals": _post(b"CONTENT-LENGTH: 5\r\nTRANSFER-ENCODING: CHUNKED\r\n", b"0\r\n\r\n"),
    "CL.CL": _post(b"Content-Length: 5\r\nContent-Length: 6\r\n", b"hello!"),
    "CL.CL in other capitals": _post(b"Content-Length: 5\r\ncontent-length: 0\r\n", b"hello"),
    "CL twice the same": _post(b"Content-Length: 5\r\nContent-Length: 5\r\n", b"hello"),
    "CL as a list": _length(b"5, 5"),
    "CL as a list that differs": _length(b"5, 6"),
    # Lengths that are read in more than one way
    "CL negative": _length(b"-5"),
    "CL with plus": _length(b"+5"),
    "CL hexadecimal": _length(b"0x5"),
    "CL with fraction": _length(b"5.0"),
    "CL with exponent": _length(b"5e0"),
    "CL with underscore": _length(b"0_5"),
    "CL with space inside": _length(b"5 5"),
    "CL quoted": _length(b'"5"'),
    "CL of words": _length(b"five"),
    "CL empty": _length(b""),
    "CL beyond 64 bits": _length(b"18446744073709551621"),
    "CL beyond 63 bits": _length(b"9223372036854775813"),
    "CL of a hundred digits": _length(b"9" * 100),
    "CL with digits of another script": _length("\u0665".encode()),
    # Transfer-Encoding in disguise (RFC 9112, section 6.1)
    "TE unknown": _te(b"xchunked"),
    "TE chunked with suffix": _te(b"chunkedx"),
    "TE identity": _te(b"identity"),
    "TE gzip": _te(b"gzip"),
    "TE gzip, chunked": _te(b"gzip, chunked"),
    "TE chunked, gzip": _te(b"chunked, gzip"),
    "TE chunked, identity": _te(b"chunked, identity"),
    "TE identity, chunked": _te(b"identity, chunked"),
    "TE chunked twice in a list": _te(b"chunked, chunked"),
    "TE with empty list members": _te(b", chunked"),
    "TE with a trailing comma": _te(b"chunked,"),
    "TE twice": _post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "TE twice, the second another": _post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", b"0\r\n\r\n"),
    "TE twice, the first another": _post(b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "TE twice, the second empty": _post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n", b"0\r\n\r\n"),
    "TE with parameter": _te(b"chunked;q=1"),
    "TE quoted": _te(b'"chunked"'),
    "TE empty": _te(b""),
    "TE with vertical tab": _te(b"\x0bchunked"),
    "TE with form feed behind": _te(b"chunked\x0c"),
    "TE with NUL": _te(b"chunked\0"),
    "TE with a byte above 127": _te(b"chunked\xa0"),
    "TE with space before the colon": _te(b"chunked", b"Transfer-Encoding : "),
    "TE with tab before the colon": _te(b"chunked", b"Transfer-Encoding\t: "),
    "TE with space before the name": _te(b"chunked", b" Transfer-Encoding: "),
    "TE with NUL in the name": _te(b"chunked", b"Transfer\0Encoding: "),
    "TE with a bare CR before the value": _te(b"\rchunked"),
    "TE folded": _te(b"\r\n chunked"),
    "TE behind a bare LF": _post(b"X: y\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "TE behind a bare CR": _post(b"X: y\rTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "TE on HTTP/1.0": _post(b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", b"POST /call HTTP/1.0"),
    "TE on HTTP/1.0 that is kept": _post(
        b"Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n", b"POST /call HTTP/1.0"
    ),
    # Chunks (RFC 9112, section 7.1)
    "chunk size negative": _chunks(b"-5\r\nhello\r\n0\r\n\r\n"),
    "chunk size with plus": _chunks(b"+5\r\nhello\r\n0\r\n\r\n"),
    "chunk size with 0x": _chunks(b"0x5\r\nhello\r\n0\r\n\r\n"),
    "chunk size of other letters": _chunks(b"g\r\nhello\r\n0\r\n\r\n"),
    "chunk size empty": _chunks(b"\r\nhello\r\n0\r\n\r\n"),
    "chunk size beyond 64 bits": _chunks(b"10000000000000005\r\nhello\r\n0\r\n\r\n"),
    "chunk size with space before": _chunks(b" 5\r\nhello\r\n0\r\n\r\n"),
    "chunk size with space behind": _chunks(b"5 \r\nhello\r\n0\r\n\r\n"),
    "chunk size with underscore": _chunks(b"0_5\r\nhello\r\n0\r\n\r\n"),
    "chunk size ended by a bare LF": _chunks(b"5\nhello\r\n0\r\n\r\n"),
    "chunk size ended by a bare CR": _chunks(b"5\rhello\r\n0\r\n\r\n"),
    "chunk ended by a bare LF": _chunks(b"5\r\nhello\n0\r\n\r\n"),
    "chunk without its end": _chunks(b"5\r\nhello0\r\n\r\n"),
    "chunk longer than told": _chunks(b"5\r\nhello!\r\n0\r\n\r\n"),
    "last chunk ended by a bare LF": _chunks(b"5\r\nhello\r\n0\n\r\n"),
    "trailers ended by a bare LF": _chunks(b"5\r\nhello\r\n0\r\n\n"),
    "trailer with space before the colon": _chunks(b"5\r\nhello\r\n0\r\nX : y\r\n\r\n"),
    "trailer folded": _chunks(b"5\r\nhello\r\n0\r\nX: y\r\n z\r\n\r\n"),
    "trailer that names a length": _chunks(b"5\r\nhello\r\n0\r\nContent-Length: 3\r\n\r\n"),
    "trailer that names a coding": _chunks(b"5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "chunk extension with a bare LF": _chunks(b"5;a\nb\r\nhello\r\n0\r\n\r\n"),
    "chunk extension with a bare CR": _chunks(b"5;a\rb\r\nhello\r\n0\r\n\r\n"),
    "chunk extension with NUL": _chunks(b"5;a\0\r\nhello\r\n0\r\n\r\n"),
    "chunk extension without semicolon": _chunks(b"5 a\r\nhello\r\n0\r\n\r\n"),
    # Lines and names (RFC 9112, sections 2.2, 5.1 and 5.2)
    "bare LF everywhere": b"GET /call HTTP/1.1\nHost: a\n\n",
    "bare LF behind the request line": b"GET /call HTTP/1.1\nHost: a\r\n\r\n",
    "bare LF behind a field": b"GET /call HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
    "bare LF as the empty line": b"GET /call HTTP/1.1\r\nHost: a\r\n\n",
    "bare CR everywhere": b"GET /call HTTP/1.1\rHost: a\r\r",
    "bare CR in a value": _field(b"X: a\rb"),
    "bare CR as the empty line": b"GET /call HTTP/1.1\r\nHost: a\r\n\rX: y\r\n\r\n",
    "CR twice": b"GET /call HTTP/1.1\r\r\nHost: a\r\r\n\r\r\n",
    "folded value": _field(b"X: a\r\n b"),
    "folded value with tab": _field(b"X: a\r\n\tb"),
    "space before the first field": b"GET /call HTTP/1.1\r\n X: y\r\nHost: a\r\n\r\n",
    "tab before the first field": b"GET /call HTTP/1.1\r\n\tX: y\r\nHost: a\r\n\r\n",
    "space before the colon": _field(b"X : y"),
    "space inside a name": _field(b"X Y: z"),
    "no colon": _field(b"nonsense"),
    "no name": _field(b": y"),
    "NUL in a name": _field(b"X\0: y"),
    "NUL in a value": _field(b"X: y\0z"),
    "control byte in a name": _field(b"X\x01: y"),
    "control byte in a value": _field(b"X: y\x01z"),
    "DEL in a value": _field(b"X: y\x7fz"),
    "backspace in a value": _field(b"X: y\x08"),
    "byte above 127 in a name": _field(b"X\xff: y"),
    "parenthesis in a name": _field(b"X(: y"),
    "CL with space before the colon": _post(b"Content-Length : 5\r\n", b"hello"),
    "CL with CR inside the name": _post(b"Content\r-Length: 5\r\n", b"hello"),
    # Host and target (RFC 9112, sections 3.2 and 3.2.2)
    "no Host": _get(b"GET /call HTTP/1.1", b"X: y\r\n"),
    "two Hosts": _get(b"GET /call HTTP/1.1", b"Host: a\r\nHost: b\r\n"),
    "two Hosts the same": _get(b"GET /call HTTP/1.1", b"Host: a\r\nhost: a\r\n"),
    "two Hosts, one empty": _get(b"GET /call HTTP/1.1", b"Host:\r\nHost: a\r\n"),
    "two Hosts on HTTP/1.0": _get(b"GET /call HTTP/1.0", b"Host: a\r\nHost: b\r\n"),
    "Host as a list": _get(b"GET /call HTTP/1.1", b"Host: a, b\r\n"),
    "Host with a user": _get(b"GET /call HTTP/1.1", b"Host: user@a\r\n"),
    "Host with a path": _get(b"GET /call HTTP/1.1", b"Host: a/b\r\n"),
    "Host with a space": _get(b"GET /call HTTP/1.1", b"Host: a b\r\n"),
    "Host with a fragment": _get(b"GET /call HTTP/1.1", b"Host: a#b\r\n"),
    "Host with a port of letters": _get(b"GET /call HTTP/1.1", b"Host: a:b\r\n"),
    "Host with a byte above 127": _get(b"GET /call HTTP/1.1", b"Host: a\xff\r\n"),
    "Host with space before the colon": _get(b"GET /call HTTP/1.1", b"Host : a\r\n"),
    "absolute form of another host": _get(b"GET http://b/call HTTP/1.1"),
    "absolute form of another port": _get(b"GET http://a:81/call HTTP/1.1"),
    "absolute form with a user": _get(b"GET http://a@b/call HTTP/1.1"),
    "absolute form of another scheme": _get(b"GET gopher://a/call HTTP/1.1"),
    "absolute form without a host": _get(b"GET http:///call HTTP/1.1", b"Host:\r\n"),
    "absolute form without Host": _get(b"GET http://a/call HTTP/1.1", b""),
    "authority form": _get(b"GET a:80 HTTP/1.1"),
    "CONNECT": _get(b"CONNECT a:80 HTTP/1.1", b"Host: a:80\r\n"),
    "asterisk form of GET": _get(b"GET * HTTP/1.1"),
    # The request line (RFC 9112, section 3)
    "no version": b"GET /call\r\n",
    "no target": _get(b"GET HTTP/1.1"),
    "empty target": _get(b"GET  HTTP/1.1"),
    "space in the target": _get(b"GET /call /x HTTP/1.1"),
    "tab instead of space": _get(b"GET\t/call\tHTTP/1.1"),
    "space behind the version": _get(b"GET /call HTTP/1.1 "),
    "space before the method": _get(b" GET /call HTTP/1.1"),
    "method in small letters": _get(b"get /call HTTP/1.1"),
    "unknown method": _get(b"SMUGGLE /call HTTP/1.1"),
    "method with NUL": _get(b"GE\0T /call HTTP/1.1"),
    "target with NUL": _get(b"GET /call\0 HTTP/1.1"),
    "target with a control byte": _get(b"GET /call\x01 HTTP/1.1"),
    "target with DEL": _get(b"GET /call\x7f HTTP/1.1"),
    "target with tab": _get(b"GET /ca\tll HTTP/1.1"),
    "target with form feed": _get(b"GET /ca\x0cll HTTP/1.1"),
    "target with a byte above 127": _get(b"GET /call\xff HTTP/1.1"),
    "target with a bare CR": _get(b"GET /ca\rll HTTP/1.1"),
    "target with a fragment": _get(b"GET /call#x HTTP/1.1"),
    "HTTP/0.9": _get(b"GET /call HTTP/0.9"),
    "HTTP/1.2": _get(b"GET /call HTTP/1.2"),
    "HTTP/2.0": _get(b"GET /call HTTP/2.0"),
    "HTTP/2.0 that is kept": _get(b"GET /call HTTP/2.0", HOST + b"Connection: keep-alive\r\n"),
    "a method of another protocol": _get(b"SOURCE /call ICE/1.0"),
    "HTTP/11": _get(b"GET /call HTTP/11"),
    "HTTP/1.10": _get(b"GET /call HTTP/1.10"),
    "HTTP/01.1": _get(b"GET /call HTTP/01.1"),
    "version in small letters": _get(b"GET /call http/1.1"),
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "the beginning of TLS": b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + b"\0" * 64,
    "PROXY protocol that was not asked for": b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" + _get(b"GET /call HTTP/1.1"),
    "a byte-order mark": b"\xef\xbb\xbf" + _get(b"GET /call HTTP/1.1"),
    # An offer to upgrade, which llhttp reads in a way of its own
    "upgrade with CL.TE": _post(
        b"Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"
    ),
    "upgrade with gzip, chunked": _post(
        b"Connection: upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"
    ),
    "upgrade with two Hosts": _post(b"Host: b\r\nConnection: upgrade\r\nUpgrade: h2c\r\n"),
    "upgrade on CONNECT": _get(b"CONNECT a:80 HTTP/1.1", b"Host: a:80\r\nConnection: upgrade\r\nUpgrade: h2c\r\n"),
}
"""Requests that are refused: 4xx, the connection closed, nothing behind them read."""

TOLERATED: dict[str, bytes] = {
    "two spaces before the version": _get(b"GET /call  HTTP/1.1"),
    "another protocol": _get(b"OPTIONS /call RTSP/1.0"),
    "another protocol that is kept": _get(b"OPTIONS /call RTSP/1.1"),
}
"""Requests that llhttp reads like their well-formed kin, without telling. Where they begin and end does not depend on it."""


def _answer(fields: bytes, body: bytes = b"", line: bytes = b"HTTP/1.1 200 OK") -> bytes:
    return line + b"\r\n" + fields + b"\r\n" + body


ANSWERS: tuple[bytes, ...] = (
    _answer(b"Content-Length: 5\r\n", b"hello"),
    _answer(b"Content-Length: 0\r\nConnection: close\r\n"),
    _answer(b"Content-Type: application/json\r\nContent-Length: 2\r\n", b"{}", b"HTTP/1.1 429 Too Many Requests"),
    _answer(b"Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n0\r\n\r\n"),
    _answer(b"Transfer-Encoding: chunked\r\nTrailer: x\r\n", b"5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n"),
    _answer(b"Transfer-Encoding: gzip, chunked\r\n", b"5\r\nhello\r\n0\r\n\r\n"),
    _answer(b"Content-Type: text/event-stream\r\n", b"data: until the end\n\n"),
    _answer(b"", b"", b"HTTP/1.1 204 No Content"),
    _answer(b"Content-Length: 5\r\n", b"", b"HTTP/1.1 304 Not Modified"),
    _answer(b"Content-Length: 5\r\n", b"hello", b"HTTP/1.0 200 OK"),
    _answer(b"", b"until the end", b"HTTP/1.0 200 OK"),
    _answer(b"", b"", b"HTTP/1.1 100 Continue") + _answer(b"Content-Length: 5\r\n", b"hello"),
    _answer(b"Link: </x>\r\n", b"", b"HTTP/1.1 103 Early Hints") + _answer(b"Content-Length: 5\r\n", b"hello"),
    _answer(b"Content-Length: 5\r\n", b"hello", b"HTTP/1.1 103 Early Hints") + _answer(b"Content-Length: 2\r\n", b"{}"),
    _answer(b"Content-Length: 5\r\n", b"hello", b"HTTP/1.1 000 Nothing"),
    _answer(b"Upgrade: h2c\r\nConnection: upgrade\r\n", b"", b"HTTP/1.1 101 Switching Protocols"),
    _answer(b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"5\r\nhello\r\n0\r\n\r\n"),
    _answer(b"Content-Length: 5\r\nContent-Length: 6\r\n", b"hello!"),
    _answer(b"Content-Length: 5\r\n", b"hello", b"HTTP/1.1 200 "),
    _answer(b"Content-Length: 5\r\n", b"hello", b"HTTP/1.1 200"),
    _answer(b"Content-Length: 5\r\n", b"hello") * 2,
    _answer(b"X: y\r\n z\r\nContent-Length: 5\r\n", b"hello"),
    _answer(b"X: y\nContent-Length: 5\r\n", b"hello"),
)
"""Answers of servers, good and bad."""

_DELTA = b'data: {"choices":[{"index":0,"delta":{"content":"%b"},"finish_reason":null}]}\n\n'
_FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}\n\n'
_USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":1}}}\n\n'
_DONE = b"data: [DONE]\n\n"

STREAMS: tuple[bytes, ...] = (
    _DELTA % b"Hello" + _DELTA % "Gr\u00fc\u00dfe \u4e16\u754c \U0001f3bc".encode() + _FINISH + _USAGE + _DONE,
    (_DELTA % b"Hello" + _FINISH + _DONE).replace(b"\n", b"\r\n"),
    (_DELTA % b"Hello" + _FINISH + _DONE).replace(b"\n", b"\r"),
    b": ping\n\n" + _DELTA % b"a" + b": ping\n\n" + _DONE,
    b"event: error\nid: 7\nretry: 10\ndata: {\ndata: }\n\n" + _DONE,
    b'data: {"error":{"message":"no","type":"server_error","code":503}}\n\n',
    _DELTA % b"data: [DONE]" + _FINISH,
    b"data:no space\n\ndata\n\ndata: \n\n:\n\n\n\n",
    b"\xef\xbb\xbf" + _DELTA % b"after a mark" + _DONE,
    _DELTA % b"\xff\xfe\xf0\x9f" + _DONE,
    b"data: a\r\ndata: b\n\rdata: c\r\n\rdata: d\r\r\n\n" + _DONE,
    b'data: {"choices":[{"delta":' + b"[" * 300 + b"]" * 300 + b"}]}\n\n",
    b'data: {"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":1e999,"total_tokens":99999999999999999999}}\n\n',
)
"""Streams of events."""

HTTP_WORDS: tuple[bytes, ...] = (
    b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\r\n ", b"\r\n\t", b"\0", b" ", b"\t", b":", b": ", b",", b";", b"\x0b", b"\x7f",
    b"\x80", b"\xff", b"Content-Length: ", b"Transfer-Encoding: ", b"chunked", b"identity", b"gzip", b"Host: a\r\n",
    b"Host: b\r\n", b"Connection: ", b"close", b"keep-alive", b"upgrade", b"Upgrade: h2c\r\n", b"Expect: 100-continue\r\n",
    b"Trailer: x\r\n", b"0", b"5", b"-1", b"+5", b"0x5", b"18446744073709551616", b"ffffffffffffffff", b"0\r\n\r\n",
    b"5\r\nhello\r\n", b";a=b", b"GET ", b"POST ", b"HEAD ", b"CONNECT ", b"OPTIONS * ", b"/call", b"http://a/call",
    b"http://b", b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", b" HTTP/2.0\r\n", b"HTTP/1.1 200 OK\r\n", AFTER,
)  # fmt: skip
"""What mutations put in."""

EVENT_WORDS: tuple[bytes, ...] = (
    b"\n", b"\r", b"\r\n", b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r", b"\r\n\r", b"data:", b"data: ", b"data", b": ", b":",
    b"event: x\n", b"id: 1\n", b"retry: 1\n", b"[DONE]", _DONE, _USAGE, _FINISH, b'"usage":', b'"usage":{', b'{"choices":[',
    b'"model":"', b"null", b"1e999", b"-0", b"\0", b"\xff", b"\xf0\x9f", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\\ud800",
    b"\\u0000", b'"', b"{", b"}", b"[" * 2000, b" ",
)  # fmt: skip
