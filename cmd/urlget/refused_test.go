package main

import (
	"io"
	"os"
	"strings"
	"testing"
)

// TestRefusedFlags checks the error text and the exit status of each invalid value and combination
// of flags. All are refused before a request is sent.
func TestRefusedFlags(t *testing.T) {
	t.Parallel()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	for _, tt := range []struct{ line, message string }{
		{"-c -nc URL", "-c and -nc cannot be combined"},
		{"-N -nc URL", "-N and -nc cannot be combined"},
		{"-c -N -nc URL", "-c and -nc cannot be combined"},
		{"-c -O - URL", "-c, -N and -nc require a file, but -O - is standard output"},
		{"-N -O - URL", "-c, -N and -nc require a file, but -O - is standard output"},
		{"-nc -O - URL", "-c, -N and -nc require a file, but -O - is standard output"},
		{"cat -c URL", "-c, -N and -nc require a file, but -O - is standard output"},
		{"cat -c -N --warc a.warc URL", "-c, -N and -nc require a file, but -O - is standard output"},
		{"--json -O - URL", "--json and -O - both use standard output"},
		{"-P d -O - URL", "-P DIR requires a relative file name, not -O -"},
		{"-P d -O /x URL", "-P DIR requires a relative file name, not -O /x"},
		{"-O f -i list", "-O names one file, but -i reads several URLs"},
		{"-O f URL URL", "-O names one file, but there are several URLs"},
		{"--range 0-1 -c URL", "--range and -c cannot be combined"},
		{"--range 0-1 -N URL", "--range and -N cannot be combined"},
		{"-e http://h/ URL", `--execute: only robots=off is supported: "http://h/"`},
		{"-e robots=maybe -r URL", `--execute: only robots=off is supported: "robots=maybe"`},
		{"-A x URL", "--accept is for recursive retrieval: it requires -r, -m or -p"},
		{"-R x URL", "--reject is for recursive retrieval: it requires -r, -m or -p"},
		{"-D h URL", "--domains is for recursive retrieval: it requires -r, -m or -p"},
		{"-k URL", "--convert-links is for recursive retrieval: it requires -r, -m or -p"},
		{"-e robots=off URL", "--execute is for recursive retrieval: it requires -r, -m or -p"},
		{"-l 3 URL", "--level is for recursive retrieval: it requires -r, -m or -p"},
		{"-np URL", "--no-parent is for recursive retrieval: it requires -r, -m or -p"},
		{"--sitemaps URL", "--sitemaps is for recursive retrieval: it requires -r, -m or -p"},
		{"-r -O f URL", "-O is not allowed with -r"},
		{"-m -O f URL", "-O is not allowed with -m"},
		{"-p -O f URL", "-O is not allowed with -p"},
		{"--spider -O f URL", "-O is not allowed with --spider"},
		{"-r -O - URL", "-O is not allowed with -r"},
		{"-r --range 0-1 URL", "--range is not allowed with -r"},
		{"-r --checksum sha256:00 URL", "--checksum is not allowed with -r"},
		{"-r --sha256 URL", "--sha256 is not allowed with -r"},
		{"-r --parts URL", "--parts is not allowed with -r"},
		{"-r --part 1 URL", "--part is not allowed with -r"},
		{"-r --text URL", "--text is not allowed with -r"},
		{"-r -X PUT URL", "-X is not allowed with -r"},
		{"-r -d x=y URL", "-d is not allowed with -r"},
		{"-r -d= URL", "-d is not allowed with -r"},
		{"-r --post-data x URL", "--post-data is not allowed with -r"},
		{"-r --post-file f URL", "--post-file is not allowed with -r"},
		{"-r -F a=b URL", "-F is not allowed with -r"},
		{"-r --form-file a=f URL", "--form-file is not allowed with -r"},
		{"-r --delete URL", "--delete requires -m or -N"},
		{"-m --delete=0% URL", `--delete: must be a percentage from 1% to 100%: "0%"`},
		{"-m --delete=20 URL", `--delete: must be a percentage from 1% to 100%: "20"`},
		{"-r -D h URL", "-D requires --span-hosts"},
		{"-r -K URL", "-K requires -k"},
		{"-r -A [ URL", `-A: "[": syntax error in pattern`},
		{"-r -R [ URL", `-R: "[": syntax error in pattern`},
		{"-r --accept-regex ( URL", "--accept-regex: error parsing regexp: missing closing ): `(`"},
		{"-r --reject-regex ( URL", "--reject-regex: error parsing regexp: missing closing ): `(`"},
		{"--compose --parts URL", "--compose and --parts cannot be combined"},
		{"--compose --part 1 URL", "--compose and --part cannot be combined"},
		{"--compose --text URL", "--compose and --text cannot be combined"},
		{"--parts --part 1 URL", "--parts and --part cannot be combined"},
		{"--parts --text URL", "--parts and --text cannot be combined"},
		{"--part 1 --text URL", "--part and --text cannot be combined"},
		{"--compose -c URL", "--compose and -c cannot be combined"},
		{"--parts -N URL", "--parts and -N cannot be combined"},
		{"--part 1 -nc URL", "--part and -nc cannot be combined"},
		{"--text --range 0-1 URL", "--text and --range cannot be combined"},
		{"--compose -O f URL", "--compose and --parts print to standard output and cannot be combined with -O FILE"},
		{"--parts -O f URL", "--compose and --parts print to standard output and cannot be combined with -O FILE"},
		{"--compose -P d URL", "--compose and -P cannot be combined"},
		{"--parts -P d URL", "--parts and -P cannot be combined"},
		{"--parts --checksum sha256:00 URL", "--parts and --checksum cannot be combined"},
		{"--compose --json URL", "--compose and --json cannot be combined"},
		{"ls -c URL", "-c requires an archive to append to"},
		{"stat -c URL", "-c requires an archive to append to"},
		{"-I -c URL", "--continue requires content, but --head retrieves none"},
		{"-I -O f URL", "--output-document requires content, but --head retrieves none"},
		{"-I -N URL", "--timestamping requires content, but --head retrieves none"},
		{"-I -r URL", "--recursive requires content, but --head retrieves none"},
		{"-I --range 0-1 URL", "--range requires content, but --head retrieves none"},
		{"-I --checksum sha256:00 URL", "--checksum requires content, but --head retrieves none"},
		{"-I --metalink URL", "--metalink requires content, but --head retrieves none"},
		{"--keep-going --fail-fast URL", "--fail-fast and --keep-going cannot be combined"},
		{"-Z -j 3 URL", "-Z and -j cannot be combined"},
		{"--http1 --http2 URL", "--http2 and --http1 cannot be combined"},
		{"--http3 --http1 URL", "--http3 and --http1 cannot be combined"},
		{"--http3 --http2 URL", "--http3 and --http2 cannot be combined"},
		{"ls --http1 --http2 URL", "--http2 and --http1 cannot be combined"},
		{"--metalink -O - URL", "--metalink saves files, but -O - is standard output"},
		{"--metalink -r URL", "--metalink is not allowed with -r"},
		{"--metalink --range 0-1 URL", "--metalink and --range cannot be combined"},
		{"--metalink -X PUT URL", "--metalink and -X cannot be combined"},
		{"--random-wait URL", "--random-wait requires -w"},
		{"--random-wait -w 0 URL", "--random-wait requires -w"},
		{"--force-html URL", "--force-html requires -i"},
		{"--base http://h/ URL", "-B requires -i"},
		{"ls --force-html URL", "--force-html requires -i"},
		{"-i list --base x", "--base: x is not an absolute URL"},
		{"--warc-max-size 1m URL", "--warc-max-size requires --warc"},
		{"--warc-cdx URL", "--warc-cdx requires --warc"},
		{"--warc-dedup f URL", "--warc-dedup requires --warc"},
		{"--no-warc-compression URL", "--no-warc-compression requires --warc"},
		{"ls --warc-cdx URL", "--warc-cdx requires --warc"},
		{"--warc d/ URL", "--warc d/ is not a file name"},
		{"--replay-only URL", "--replay-only requires an archive"},
		{"--replay-at 2026-01-31 URL", "--at requires an archive"},
		{"serve --replay-only", "--replay-only requires an archive"},
		{"explain --warc-cdx URL", "unknown flag: --warc-cdx"},
		{"--cookies a --load-cookies b URL", "--cookies and --load-cookies cannot be combined"},
		{"--cookies a --save-cookies b URL", "--cookies and --save-cookies cannot be combined"},
		{"--keep-session-cookies URL", "--keep-session-cookies requires --cookies or --save-cookies"},
		{"--keep-session-cookies --load-cookies a URL", "--keep-session-cookies requires --cookies or --save-cookies"},
		{"ls --keep-session-cookies URL", "--keep-session-cookies requires --cookies or --save-cookies"},
		{"--socks5 h:1 --proxy http://h URL", "--socks5 and --proxy cannot be combined"},
		{"--socks5 a/b URL", "--socks5: must be HOST:PORT"},
		{"--socks5 h:1 --no-proxy URL", "--no-proxy cannot be combined with --proxy or --socks5"},
		{"--socks5 h:1 --proxy-tunnel URL", "--socks5 and --proxy-tunnel cannot be combined"},
		{"--no-proxy --proxy http://h URL", "--no-proxy cannot be combined with --proxy or --socks5"},
		{"serve --no-proxy --proxy http://h", "--no-proxy cannot be combined with --proxy or --socks5"},
		{"serve --socks5 h:1 --proxy http://h", "--socks5 and --proxy cannot be combined"},
		{"-q -v URL", "-q and -v cannot be combined"},
		{"cat -q -v URL", "-q and -v cannot be combined"},
		{"ls -q -v URL", "-q and -v cannot be combined"},
		{"--user a:b --password c URL", "--user USER:PASSWORD cannot be combined with --password, --password-file or --ask-password"},
		{"--user a:b --password-file f URL", "--user USER:PASSWORD cannot be combined with --password, --password-file or --ask-password"},
		{"--user a:b --ask-password URL", "--user USER:PASSWORD cannot be combined with --password, --password-file or --ask-password"},
		{"--password b --password-file f URL", "--password-file and --password cannot be combined"},
		{"--password b --ask-password URL", "--ask-password and --password cannot be combined"},
		{"--password= --password-file b URL", "--password cannot be combined with --password-file or --ask-password"},
		{"--password-file b --ask-password URL", "--ask-password and --password-file cannot be combined"},
		{"--no-netrc --netrc URL", "--no-netrc and --netrc cannot be combined"},
		{"--no-netrc --netrc-file f URL", "--no-netrc and --netrc-file cannot be combined"},
		{"-d x=y --post-file f URL", "--post-file and -d cannot be combined"},
		{"-d x=y -F a=b URL", "-F and -d cannot be combined"},
		{"--post-data x --form-file a=b URL", "--form-file and --post-data cannot be combined"},
		{"--post-file f -F a=b URL", "-F and --post-file cannot be combined"},
		{"--post-file f --form-file a=b URL", "--form-file and --post-file cannot be combined"},
		{"ls -d x=y --post-file f URL", "--post-file and -d cannot be combined"},
		{"-X a/b URL", "--method: must be one word"},
		{"-X a,b URL", "--method: must be one word"},
		{"--log a --log-append b URL", "--log-append and --log cannot be combined"},
		{"-4 -6 URL", "-6 and -4 cannot be combined"},
		{"serve -4 -6", "-6 and -4 cannot be combined"},
		{"--private-key f URL", "--private-key requires --certificate"},
		{"serve --private-key f", "--private-key requires --certificate"},
		{"serve --terminal --replay-only --replay f", "--terminal and --replay-only cannot be combined"},
		{"--cache c --warc w URL", "--cache and --warc cannot be combined"},
		{"serve --as-proxy --cache c", "--cache and --as-proxy cannot be combined"},
		{"serve --as-proxy=127.0.0.1:0 --require-login a:b --cache c --offline", "--cache and --as-proxy cannot be combined"},
		{"mcp --cache c", "unknown flag --cache"},
		{"mcp --offline --cache=c", "unknown flag --offline"},
		{"-O http://h/ URL", "-O http://h/ is not a file name"},
		{"-O -x URL", "-O -x is not a file name"},
		{"-H http://h/ URL", "-H http://h/ is not a header field 'Name: value'"},
		{"-H -k URL", "-H -k is not a header field 'Name: value'"},
		{"-d / URL", "-d / is not data such as NAME=VALUE"},
		{"--ca-certificate= URL", "--ca-certificate has an empty FILE"},
		{"explain -c -nc URL", "-c and -nc cannot be combined"},
		{"explain -r -O f URL", "-O is not allowed with -r"},
		{"explain --http1 --http2 URL", "--http2 and --http1 cannot be combined"},
		{"explain -i list --base x", "--base: x is not an absolute URL"},
		{"--bind-address x URL", `--bind-address: "x" is not an address`},
		{"--resolve x URL", `--resolve: "x" is not HOST:PORT:ADDR`},
		{"--gateway x URL", "--gateway: must be SCHEME=URL"},
		{"--range x URL", `--range: "x" is not A-B, A-, A, -N or a comma-separated list of them, counted from 0`},
	} {
		t.Run(tt.line, func(t *testing.T) {
			t.Parallel()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			args := strings.Fields(strings.ReplaceAll(tt.line, "URL", "http://127.0.0.1:1/"))
			status := execute(t.Context(), append(args, "--no-config"), stdio{null, null, w})
			w.Close()
			text, err := io.ReadAll(r) // a message is smaller than the buffer of a pipe
			if err != nil {
				t.Fatal(err)
			}
			if got, _, _ := strings.Cut(string(text), "\n"); got != "urlget: "+tt.message || status != exitUsage {
				t.Errorf("status %d, %q, want %q", status, got, tt.message)
			}
		})
	}
}
