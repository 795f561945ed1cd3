#!/bin/bash
# Types command lines of curl, wget, aria2, HTTPie, lynx, w3m and axel, the same arguments after "urlget", and
# the line that follows the hint, each in an empty folder. urlget must either do what the tool does, or
# refuse the line before it sends or writes anything. The line that follows the hint must send the same
# requests, leave the same files, print the same, and succeed or fail as the tool does. The hint must
# name a flag of that line: urlget reports one flag at a time. Requires urlget in PATH, the tools of Debian, and python3.
#
# The rows of integration/habits.txt are "TOOL ARGUMENTS => URLGET ARGUMENTS"; "=> the same" means that
# urlget takes the line unchanged. U is the address of a server.
#
# Then it types the rows of cmd/urlget/testdata/habits to their own tools, and compares what these do with
# the column FACT.
set -euo pipefail
rows=$(cd "$(dirname "$0")" && pwd)/habits.txt
for tool in curl wget aria2c http lynx w3m axel python3 urlget; do
	command -v "$tool" >/dev/null || { echo "habits: $tool is missing" >&2; exit 1; }
done
tmp=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$tmp"' EXIT
export HOME=$tmp/home XDG_CONFIG_HOME=$tmp/home no_proxy='*'
mkdir "$HOME"

cat >"$tmp/server.py" <<'PY'
import http.server, sys
log = open(sys.argv[1], 'a', buffering=1) # run empties it
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *args): pass
    def answer(self):
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        referer = self.headers.get('Referer', '')
        if 'moved' in referer: referer = '' # urlget names the page that redirected, curl does not
        print(self.command, self.path, self.headers.get('X-A', ''), referer,
              self.headers.get('Authorization', ''), self.headers.get('Cookie', ''), body.decode(), file=log)
        content, status = b'0123456789\n', 200
        if self.path.startswith('/gone'): content, status = b'gone\n', 404
        if self.path.startswith('/moved'): status = 302
        if self.path.startswith('/private') and not self.headers.get('Authorization'): status = 401
        ranged = self.headers.get('Range')
        if status == 200 and ranged and ranged.startswith('bytes=0-3'): content, status = content[:4], 206
        self.send_response(status)
        if self.path == '/page/': content = b'<a href="/hello.txt">0123</a>'
        self.send_header('Content-Type', 'text/html' if self.path == '/page/' else 'text/plain')
        if status == 206: self.send_header('Content-Range', 'bytes 0-3/11')
        if status == 302: self.send_header('Location', '/hello.txt'); content = b''
        if status == 401: self.send_header('WWW-Authenticate', 'Basic realm="x"')
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        if self.command != 'HEAD': self.wfile.write(content)
    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = answer
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
PY
python3 "$tmp/server.py" "$tmp/requests" >"$tmp/port" &
server=$!
until [ -s "$tmp/port" ]; do kill -0 "$server"; sleep 0.1; done
url=http://127.0.0.1:$(cat "$tmp/port")

# run runs a command line in an empty folder and stores in $tmp/$1 what it did. A request that is
# repeated with credentials after a 401 counts once.
run() { # NAME LINE
	local dir=$tmp/dir status=0
	rm -rf "$dir" && mkdir "$dir"
	printf '%s/hello.txt\n' "$url" >"$tmp/list"
	printf 'a=b' >"$tmp/body"
	: >"$tmp/requests"
	(cd "$dir" && eval "$2") >"$tmp/stdout" 2>"$tmp/stderr" </dev/null || status=$?
	{
		grep -av '^HEAD /private' "$tmp/requests" | sed 's/  *$//' | sort -u || true
		(cd "$dir" && find . -type f -exec sha256sum {} + | sort)
		printf 'stdout %s\n' "$(sha256sum <"$tmp/stdout")"
		[ "$status" = 0 ] && echo succeeded || echo failed
	} >"$tmp/$1"
	echo "$status" >"$tmp/$1.status"
	cp "$tmp/stderr" "$tmp/$1.stderr"
}

http() { command http --ignore-stdin --pretty=none --print=b "$@"; } # as at a terminal, without its colours

lines=0 wrong=0
bad() { # TEXT
	wrong=$((wrong + 1))
	echo "wrong: $row: $1"
}
while IFS= read -r row; do
	case $row in '' | '#'*) continue ;; esac
	lines=$((lines + 1))
	theirs=${row%% => *} ours=${row#* => }
	theirs=${theirs//U\//$url/} ours=${ours//U\//$url/}
	theirs=${theirs//TMP/$tmp} ours=${ours//TMP/$tmp}
	typed="urlget ${theirs#* }"
	run tool "$theirs"
	run typed "$typed"
	if [ "$ours" = 'the same' ]; then
		cmp -s "$tmp/tool" "$tmp/typed" || bad "$(diff "$tmp/tool" "$tmp/typed" || true; cat "$tmp/typed.stderr")"
		continue
	fi
	if [ "$(cat "$tmp/typed.status")" != 2 ]; then
		grep -q 'standard output gets nothing; urlget cat' "$tmp/typed.stderr" || bad "is not refused: $(cat "$tmp/typed.stderr")"
	elif grep -qE '^[A-Z]+ /|^[0-9a-f]{64}  \./' "$tmp/typed"; then
		bad "is refused and does something: $(cat "$tmp/typed")"
	fi
	flags=0 named=0 # those of the line that were not typed, and those in the hint
	for word in $ours; do
		case " $typed " in *" $word "*) continue ;; esac
		case $word in
		-[A-Za-z-]* | cat)
			flags=$((flags + 1))
			grep -q -- "$word" "$tmp/typed.stderr" && named=$((named + 1))
			;;
		esac
	done
	[ "$flags" = 0 ] || [ "$named" -gt 0 ] || bad "the hint names no flag of it: $(cat "$tmp/typed.stderr")"
	run ours "urlget $ours"
	cmp -s "$tmp/tool" "$tmp/ours" || bad "$(diff "$tmp/tool" "$tmp/ours" || true; cat "$tmp/ours.stderr")"
done <"$rows"

# fact prints what a tool does with a line: saves, prints or neither.
fact() { # TOOL ARGUMENTS
	local dir=$tmp/dir out=stdout args=${2//SITE/$url}
	rm -rf "$dir" && mkdir "$dir" && cd "$dir"
	args=${args//URL/$url/hello.txt}
	for name in curlrc aria2.list list file.txt page.html cookies; do
		case $args in *"$name"*) echo "$url/hello.txt" >"$name" ;; esac
	done
	[ ! -e curlrc ] || echo "url = $url/hello.txt" >curlrc
	case $args in *' > '*) out=${args##* > } ;; esac
	touch "$tmp/before"
	(eval "run_tool $1 $args") </dev/null >stdout 2>/dev/null || true
	local printed='' content=.
	case $1 in wget* | aria2c | axel) content=0123 ;; esac # they print messages, too
	if grep -qas "$content" "$out"; then printed=1; fi
	rm -f stdout "$out"
	if [ -n "$(find . -type f ! -path './.*' -newer "$tmp/before" -print -quit)" ]; then
		echo saves
	elif [ "$printed" ]; then
		echo prints
	else
		echo neither
	fi
}
run_tool() { # TOOL ARGUMENT...; HTTPie reads a standard input that is no terminal
	local tool=$1 form=()
	shift
	[ "$tool" != http ] || form=(--ignore-stdin --pretty=none)
	timeout 120 "$tool" "${form[@]}" "$@"
}
facts=0
while IFS= read -r row; do
	[[ $row =~ ^(same|said|taught|unhelped)\ +([a-z0-9]+)\ (saves|prints|neither)\ +(.*[^ ])\ \ (.*)$ ]] || continue
	tool=${BASH_REMATCH[2]} want=${BASH_REMATCH[3]} args=${BASH_REMATCH[4]}
	case $tool:$args in
	urlget:* | lftp:* | scp:* | aria2c:-D* | *' /tmp'* | *' ~/'*) continue ;;   # not seen here
	aria2c:--enable-rpc* | lynx:-accept_all_cookies*) continue ;; # these stay
	esac
	command -v "$tool" >/dev/null || continue
	facts=$((facts + 1))
	is=$(export no_proxy=; fact "$tool" "$args")
	[ "$is" = "$want" ] || bad "$tool $is"
done <"$(dirname "$rows")/../cmd/urlget/testdata/habits"
echo "$lines lines, $facts facts, $wrong wrong"
[ "$wrong" = 0 ] && [ "$lines" -ge 60 ]
