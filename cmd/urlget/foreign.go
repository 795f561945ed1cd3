package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A foreign flag is one of wget, curl or aria2 that has another name here, or none.
type foreign struct {
	of    string // the tools that have it
	names string // as they write it, separated by blanks; a "*" at the end stands for any rest
	here  string // what to type here; "" if there is no equivalent
	note  string // why, or what is different; "" if that is obvious
}

// foreigners are the flags of wget 1.21, curl 7.88 and aria2 1.36 that this command does not have
// under that name and with that meaning. A flag is listed once for each of its meanings.
var foreigners = []foreign{
	// What is always the case here.
	{"curl", "--remote-name --remote-name-all", "", "files get the names of their URLs without it"},
	{"wget", "--restrict-file-names --local-encoding --remote-encoding --no-iri", "", "names are made safe for every system"},
	{"wget", "--no-cache --no-glob", "", "nothing is cached, and %2A is no wildcard"},
	{"wget", "--no-passive-ftp", "--ftp-active", ""},
	{"wget", "--passive-ftp", "", "FTP is passive unless --ftp-active is given"},
	{"curl", "--ftp-pasv --disable-epsv --disable-eprt", "", "FTP is passive, and falls back by itself"},
	{"curl", "--ftp-port", "--ftp-active", ""},
	{"curl", "--ssl --ftp-ssl", "--ftp-tls try", ""},
	{"curl", "--ssl-reqd --ftp-ssl-reqd", "--ftp-tls require", ""},
	{"wget", "--ftps-implicit", "", "write ftps: for TLS from the first byte, --ftp-tls for AUTH TLS"},
	{"curl", "--use-ascii", "", "end the URL in ;type=a"},
	{"wget", "--preserve-permissions --retr-symlinks --no-remove-listing", "", ""},

	// Output.
	{"curl", "--output", "-O FILE", ""},
	{"aria2", "--out", "-O FILE", ""},
	{"aria2", "--dir", "-P DIR", ""},
	{"curl", "--output-dir", "-P DIR", ""},
	{"curl", "--create-dirs", "", "directories are made as needed"},
	{"curl", "-C --continue-at", "-c", ""},
	{"curl", "--remote-time", "", "files have the time of the server without it"},
	{"wget", "--no-use-server-timestamps", "", "files have the time of the server"},
	{"curl", "-z --time-cond", "-N", ""},
	{"aria2", "--conditional-get", "-N", ""},
	{"aria2", "--allow-overwrite", "", "-O FILE replaces a file"},
	{"aria2", "--auto-file-renaming", "", "a new file gets a new name without it; -nc leaves the one that is there"},
	{"curl", "--silent", "-q", ""},
	{"curl", "-# --progress-bar", "", "a bar is shown without it"},
	{"wget", "--show-progress", "", "progress is shown on a terminal; -q is silent"},
	{"curl", "--include", "-S", "the replies go to standard error"},
	{"curl", "--dump-header", "-S", "the replies go to standard error"},
	{"wget", "--save-headers", "-S", "the replies go to standard error"},
	{"curl", "--write-out", "--json", ""},
	{"wget", "--report-speed", "", ""},
	{"curl", "--trace-ascii --trace-time", "--trace", ""},
	{"wget", "--debug", "--trace", ""},
	{"aria2", "--log", "-o FILE", ""},
	{"aria2", "--check-integrity", "--checksum ALGO:HEX", ""},

	{"curl", "--no-progress-meter", "--progress none", ""},
	{"curl", "--stderr", "-o FILE", ""},
	{"curl", "--styled-output", "--color MODE", ""},
	{"curl", "--create-file-mode", "", "new files have the mode that umask leaves"},
	{"curl", "--remove-on-error", "", "what is incomplete never has the name of the file"},
	{"curl", "--etag-compare --etag-save", "-N", ""},
	{"curl", "--max-filesize", "--max-size SIZE", ""},
	{"curl", "-M --manual", "", "man urlget, or urlget help"},
	{"curl", "--libcurl --xattr", "", ""},
	{"wget", "--xattr", "", ""},
	{"wget", "--backups --unlink", "", "a file is replaced only by -O, -c and -N, and then as a whole"},
	{"wget", "--delete-after", "-O /dev/null", "or --spider, for trees"},
	{"wget", "--start-pos", "--range N-", ""},
	{"wget", "--compression", "--compressed", ""},
	{"wget", "--rejected-log", "-v", ""},
	{"aria2", "--console-log-level --log-level", "-v", ""},
	{"aria2", "--dry-run --use-head", "--spider", "or urlget stat"},
	{"aria2", "--enable-color", "--color MODE", ""},
	{"aria2", "--stderr --show-console-readout --truncate-console-readout --human-readable --download-result", "", "messages go to standard error; --json is for programs"},
	{"aria2", "--summary-interval", "--progress plain", ""},
	{"aria2", "--on-*", "--json", "the events tell when a file is there"},
	{"aria2", "--remove-control-file --force-save --auto-save-interval --always-resume --max-resume-failure-tries", "-c", "it goes on where that is safe"},
	{"aria2", "--hash-check-only --realtime-chunk-checksum", "--checksum ALGO:HEX", ""},

	// Requests.
	{"curl", "--cookie", "--load-cookies FILE", "or --header 'Cookie: name=value'"},
	{"curl", "--cookie-jar --junk-session-cookies", "--cookies FILE", "cookies of a session are not kept"},
	{"wget", "--no-cookies", "", "no cookie outlives the run without --cookies"},
	{"curl", "-G --get", "", "write the values into the URL"},
	{"curl", "--upload-file", "-X PUT --post-file FILE", "to HTTP servers; nothing is uploaded otherwise"},
	{"curl", "--data-binary", "--post-file FILE", ""},
	{"curl", "--data-ascii --data-raw", "-d TEXT", "of which @FILE is a file"},
	{"curl", "--fail-with-body", "--content-on-error", ""},
	{"curl", "--data-urlencode --form-string", "", "write %XX for what has a meaning in forms"},
	{"curl", "--request --request-target", "-X METHOD", ""},
	{"wget", "--body-data", "-d TEXT", ""},
	{"wget", "--body-file", "--post-file FILE", ""},
	{"curl", "--append", "", "nothing is ever uploaded"},
	{"curl", "--quote", "", "no command of yours is sent to FTP servers"},
	{"curl", "--list-only", "urlget ls", ""},
	{"curl", "--telnet-option", "", ""},
	{"curl", "--compressed-ssh --tcp-fastopen --tcp-nodelay --no-alpn --no-npn --no-buffer", "", "there is nothing of the kind to set"},
	{"curl", "--location-trusted", "", "logins stay with their server"},
	{"curl", "--max-redirs", "--max-redirect N", ""},
	{"curl", "--post301 --post302 --post303", "", ""},
	{"wget", "--ignore-length", "", "a file is whole only if its length is right"},
	{"curl", "--ignore-content-length", "", "a file is whole only if its length is right"},

	{"curl", "--url-query", "", "write the values into the URL"},
	{"curl", "--form-escape --expect100-timeout --tr-encoding --raw --crlf", "", "there is nothing of the kind to set"},
	{"curl", "--mail-*", "", "no mail is sent"},
	{"curl", "--ftp-alternative-to-user --ftp-create-dirs --ftp-method --ftp-pret --ftp-skip-pasv-ip --ftp-ssl-ccc --ftp-ssl-ccc-mode --ftp-ssl-control", "", "FTP adapts to the server by itself"},
	{"wget", "--ftps-*", "", "connections for data are as safe as the one for commands"},
	{"curl", "--path-as-is", "", "paths are sent as they are"},
	{"wget", "--default-page --strict-comments --no-if-modified-since --no-http-keep-alive", "", "there is nothing of the kind to set"},
	{"aria2", "--http-accept-gzip", "--compressed", ""},
	{"aria2", "--http-no-cache --http-auth-challenge --enable-http-* --ftp-reuse-connection --content-disposition-default-utf8", "", "there is nothing of the kind to set"},
	{"aria2", "--ftp-type", "", "end the URL in ;type=a"},
	{"aria2", "--save-not-found --server-stat-*", "", ""},

	// The network.
	{"curl", "-0 --http1.0 --http1.1", "--http1", ""},
	{"curl", "--http2-prior-knowledge", "", "HTTP/1.1 and, over TLS, HTTP/2 are spoken"},
	{"curl", "--http3-only", "", "--http3 uses TCP where HTTP/3 fails"},
	{"curl", "--pinnedpubkey", "--pinned sha256//BASE64", ""},
	{"curl", "--preproxy --proxy1.0", "--proxy URL", ""},
	{"curl", "--noproxy", "--no-proxy", "with hosts as in --no-proxy=LIST"},
	{"curl", "--socks5-hostname", "--socks5 HOST:PORT", ""},
	{"curl", "--socks4 --socks4a", "--proxy socks4://HOST:PORT", ""},
	{"curl", "--proxytunnel", "--proxy-tunnel", ""},
	{"curl", "--proxy-user", "", "put user and password into the proxy's URL"},
	{"wget", "--proxy-user --proxy-password", "", "put user and password into the proxy's URL"},
	{"aria2", "--all-proxy --http-proxy --https-proxy --ftp-proxy", "--proxy URL", ""},
	{"curl", "--retry", "-t N", ""},
	{"aria2", "--max-tries", "-t N", ""},
	{"curl", "--retry-delay --retry-max-time", "--retry-max-wait SECONDS", "the wait grows up to that, or is what the server asks for"},
	{"aria2", "--retry-wait", "--retry-max-wait SECONDS", "the wait grows up to that, or is what the server asks for"},
	{"curl", "--retry-all-errors --retry-connrefused", "", "what may pass is tried again without it"},
	{"wget", "--retry-connrefused --retry-on-http-error --retry-on-host-error", "", "what may pass is tried again without it"},
	{"curl", "--interface", "--bind-address ADDR", ""},
	{"wget", "--prefer-family", "-4 or -6", ""},
	{"curl", "--ipv4 --ipv6", "-4 or -6", ""},
	{"curl", "--connect-to --dns-servers --dns-interface --doh-url", "--resolve HOST:PORT:ADDR", ""},
	{"wget", "--dns-servers --bind-dns-address --no-dns-cache", "--resolve HOST:PORT:ADDR", ""},
	{"wget", "--dns-timeout", "--connect-timeout SECONDS", ""},
	{"curl", "-Y --speed-limit -y --speed-time", "-T SECONDS", "what makes no progress for that long is given up"},
	{"aria2", "--lowest-speed-limit", "-T SECONDS", ""},
	{"aria2", "--max-download-limit --max-overall-download-limit", "--limit-rate SIZE", ""},

	{"curl", "--rate", "-w SECONDS", ""},
	{"curl", "--proto --proto-default", "", "a URL says its scheme"},
	{"curl", "--proto-redir", "--allow-redirect SCHEME", ""},
	{"wget", "--https-only", "", "redirects from https to http are followed, without the login"},
	{"wget", "--waitretry", "--retry-max-wait SECONDS", "the wait grows up to that, or is what the server asks for"},
	{"curl", "--dns-ipv4-addr --dns-ipv6-addr --local-port --unix-socket --abstract-unix-socket --haproxy-protocol --http0.9 --alt-svc --doh-* " +
		"--happy-eyeballs-timeout-ms --keepalive-time --no-keepalive --no-sessionid --suppress-connect-headers --tftp-blksize --tftp-no-options", "", ""},
	{"curl", "--hsts", "", ""},
	{"wget", "--hsts-file --no-hsts", "", ""},
	{"aria2", "--async-dns* --dscp --multiple-interface --socket-recv-buffer-size", "--resolve HOST:PORT:ADDR", ""},
	{"aria2", "--disable-ipv6", "-4", ""},
	{"aria2", "--all-proxy-* --http-proxy-* --https-proxy-* --ftp-proxy-*", "", "put user and password into the proxy's URL"},
	{"aria2", "--proxy-method", "--proxy-tunnel", ""},
	{"aria2", "--max-file-not-found", "-t N", ""},
	{"aria2", "--stop --stop-with-process", "--max-time SECONDS", ""},
	{"curl", "--proxy-pinnedpubkey --proxy-c* --proxy-header --proxy-insecure --proxy-key* --proxy-negotiate --proxy-ntlm --proxy-pass " +
		"--proxy-service-name --proxy-ssl-* --proxy-tls*", "", "a proxy is spoken to like any server, and its login is in its URL"},
	{"curl", "--socks5-*", "", "the login of a SOCKS proxy is in its URL"},

	// Trust and logins.
	{"curl", "--cert-status --crlfile --engine --false-start --ssl-* -1 -2 -3 --sslv2 --sslv3 --tlsauthtype --tlspassword --tlsuser", "", "TLS 1.2 and later are spoken, as the server likes best"},
	{"aria2", "--min-tls-version", "", "TLS 1.2 and later are spoken, as the server likes best"},
	{"curl", "--hostpubmd5 --hostpubsha256", "--known-hosts FILE", ""},
	{"aria2", "--ssh-host-key-md", "--known-hosts FILE", ""},
	{"curl", "--pubkey", "--identity FILE", "the public key is found with the private one"},
	{"curl", "--pass", "", "the passphrase of a key is asked for at the terminal"},
	{"curl", "--disallow-username-in-url", "", ""},
	{"curl", "--login-options --ntlm-wb --sasl-authzid --sasl-ir --service-name", "", "the login is made as the server asks for it"},
	{"aria2", "--check-certificate", "--insecure", "certificates are checked without it"},
	{"curl", "--cacert", "--ca-certificate FILE", ""},
	{"curl", "--capath", "--ca-certificate FILE", ""},
	{"wget", "--ca-directory --crl-file --random-file --egd-file", "--ca-certificate FILE", ""},
	{"curl", "--cert", "--certificate FILE", ""},
	{"curl", "--key", "--private-key FILE", ""},
	{"wget", "--certificate-type --private-key-type", "", "both are PEM"},
	{"curl", "--cert-type --key-type", "", "both are PEM"},
	{"curl", "--tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2 --tlsv1.3 --tls-max --ciphers --tls13-ciphers --curves", "", "TLS 1.2 and later are spoken, as the server likes best"},
	{"wget", "--secure-protocol --ciphers", "", "TLS 1.2 and later are spoken, as the server likes best"},
	{"curl", "-n", "--netrc", ""},
	{"curl", "--netrc-optional", "", "the netrc file is read without it"},
	{"aria2", "--netrc-path", "--netrc-file FILE", ""},
	{"wget", "--http-user --ftp-user --use-askpass", "--user USER", ""},
	{"wget", "--http-password --ftp-password", "--password PASSWORD", ""},
	{"aria2", "--http-user --ftp-user", "--user USER", ""},
	{"aria2", "--http-passwd --ftp-passwd", "--password PASSWORD", ""},
	{"curl", "--basic --digest --ntlm --negotiate --anyauth --proxy-basic --proxy-digest --proxy-anyauth", "", "the login is made as the server asks for it"},
	{"wget", "--auth-no-challenge", "", "the login is made when the server asks for it"},
	{"curl", "--oauth2-bearer", "--header 'Authorization: Bearer TOKEN'", ""},
	{"curl", "--aws-sigv4 --krb --delegation", "", ""},

	// Lists and trees.
	{"curl", "--parallel-max", "-j N", ""},
	{"curl", "--parallel-immediate", "", "transfers begin as soon as their turn comes"},
	{"curl", "--fail-early", "--fail-fast", ""},
	{"curl", "--disable", "--no-config", ""},
	{"aria2", "--conf-path", "--config FILE", ""},
	{"aria2", "--no-conf", "--no-config", ""},
	{"aria2", "--max-concurrent-downloads", "-j N", ""},
	{"aria2", "--max-connection-per-server", "-s N", "or --per-host N for several files"},
	{"aria2", "--parameterized-uri", "", "brackets and braces are not expanded"},
	{"aria2", "--deferred-input --save-session* --optimize-concurrent-downloads --reuse-uri --keep-unfinished-download-result --max-download-result", "", "a list is read as it is worked on, and -c goes on with it"},
	{"wget", "--include-directories", "--accept-regex REGEX", ""},
	{"wget", "--regex-type", "", "regular expressions are those of Go (RE2)"},
	{"wget", "--convert-file-only --protocol-directories", "", ""},
	{"wget", "--warc-header --no-warc-digests --no-warc-keep-log --warc-tempdir", "", "archives have digests, and no log"},
	{"curl", "--url", "", "name the URL by itself"},
	{"curl", "-g --globoff", "", "brackets and braces are not expanded"},
	{"curl", "--next -:", "", "run the command once for each"},
	{"wget", "--follow-tags --ignore-tags --ignore-case --follow-ftp --relative", "", ""},
	{"aria2", "--enable-dht* --bt-* --dht-* --peer-* --enable-peer-exchange --seed-time --seed-ratio --listen-port --follow-torrent --torrent-file " +
		"--index-out --select-file --show-files --max-upload-limit --max-overall-upload-limit", "", "BitTorrent is not spoken"},
	{"aria2", "--metalink* --follow-metalink", "--metalink", "a flag before the URL of the document"},
	{"aria2", "--enable-rpc --rpc-* --daemon --gid --pause --pause-metadata", "", ""},
	{"aria2", "--file-allocation --no-file-allocation-limit --disk-cache --min-split-size --piece-length --allow-piece-length-change --force-sequential --stream-piece-selector --uri-selector " +
		"--enable-mmap --max-mmap-limit --event-poll --rlimit-nofile", "", "there is nothing of the kind to set"},
}

// isFlag reports whether name is a known flag, or of a known family.
func isFlag(name, known string) bool {
	if family, ok := strings.CutSuffix(known, "*"); ok {
		return strings.HasPrefix(name, family)
	}
	return name == known
}

// unknownFlag returns the error for an unknown flag: the equivalent if it is a flag of another
// tool, or else the flag with the most similar name. It returns nil if there is no such flag.
func unknownFlag(name string, flags *pflag.FlagSet) error {
	var said []foreign
	for _, f := range foreigners {
		if slices.ContainsFunc(strings.Fields(f.names), func(known string) bool { return isFlag(name, known) }) {
			if n := len(said) - 1; n >= 0 && said[n].here == f.here && said[n].note == f.note {
				said[n].of += "'s and " + f.of
				continue
			}
			said = append(said, f)
		}
	}
	if len(said) > 0 {
		advice := make([]string, len(said))
		for i, f := range said {
			advice[i] = f.advice()
		}
		return &usageError{"unknown flag " + name, strings.Join(advice, "; ")}
	}
	if near := nearestFlag(strings.TrimLeft(name, "-"), flags); near != "" && strings.HasPrefix(name, "--") {
		return &usageError{"unknown flag " + name, "did you mean --" + near + "?"}
	}
	return nil
}

// otherValues are what other tools take as the value of a flag that has the same letter here.
var otherValues = map[string]string{
	"wait":     "curl's -w is --json, which tells the status and more",
	"timeout":  "curl's -T uploads; to HTTP servers, that is -X PUT --post-file FILE",
	"segments": "curl's -s is -q",
	"level":    "curl's -l is urlget ls",
	"tries":    "curl's -t is for telnet and has no equivalent here",
}

// swallowed are hints for flags that took the URL as their value, as their letter has none, or
// another one, in another tool.
var swallowed = map[string]string{
	"accept":          "curl's -A is -U AGENT",
	"append-output":   "nothing is uploaded, as by curl's -a",
	"base":            "for curl's -B, end the URL in ;type=a",
	"data":            "wget's -d is --trace",
	"domains":         "curl's -D is -S",
	"execute":         "curl's -e is --referer URL",
	"form":            "wget's -F is --force-html",
	"output-file":     "curl's -o is -O FILE",
	"reject":          "files have the time of the server without curl's -R",
	"output-document": "curl's -O is the default here",
}

// noURL is the error for a command line without a URL. Perhaps a flag took it.
func noURL(cmd *cobra.Command) error {
	wrong := &usageError{"no URL", cmd.CommandPath() + " --help"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if u, err := uri.ParseLoose(strings.Trim(f.Value.String(), "[]")); err == nil && u.IsAbs() && u.HasAuthority() && f.Name != "referer" && f.Name != "proxy" {
			wrong = &usageError{"no URL: --" + f.Name + " took " + fetch.Printable(u.Redacted()) + " as its value", cmp.Or(swallowed[f.Name], wrong.hint)}
		}
	})
	return wrong
}

const notNeededK = "aria2's -k is not needed: --segments decides how files are split"

// misread says what an argument that is no URL would be as the value of a flag that has none here,
// but has one in another tool; "" if there is no such flag.
func (s *settings) misread(text string) string {
	if s.flags != nil && s.flags.NArg() < 2 {
		return "" // the URL is missing then, or it is this one
	}
	digits := text != "" && strings.Trim(text, "0123456789") == ""
	ranges, err := parseRanges(text)
	for _, f := range []struct {
		given bool
		hint  string
	}{
		{s.tree.recursive && err == nil && len(ranges) > 0, "curl's -r is --range " + text},
		{s.tree.mirror && digits, "curl's -m is --max-time " + text},
		{s.tree.force && digits, "aria2's -x is --segments " + text},
		{s.tree.force, "curl's -x is --proxy " + text},
		{s.tree.convert, notNeededK},
		{s.json && strings.HasPrefix(text, "{"), "curl's --json is -d TEXT -H 'Content-Type: application/json'"},
		{s.resume && text != "-", "curl's -c is --cookies " + text},
		{s.log.background, "curl's -b is --load-cookies FILE, or --header 'Cookie: NAME=VALUE'"},
	} {
		if f.given {
			return f.hint
		}
	}
	return ""
}

// advice says what to use instead of the flag.
func (f foreign) advice() string {
	switch {
	case f.here != "" && f.note != "":
		return fmt.Sprintf("it is one of %s's; here it is %s: %s", f.of, f.here, f.note)
	case f.here != "":
		return fmt.Sprintf("it is one of %s's; here it is %s", f.of, f.here)
	case f.note != "":
		return fmt.Sprintf("it is one of %s's; %s", f.of, f.note)
	}
	return fmt.Sprintf("it is one of %s's; there is none like it here", f.of)
}

// nearestFlag returns the name of the flag most similar to name, or "" if none is similar. Flags
// are mistyped in the same way as schemes.
func nearestFlag(name string, flags *pflag.FlagSet) string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return uri.NearestScheme(name, names)
}
