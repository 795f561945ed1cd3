package fetchhttp_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// An origin is a server that answers each request with the same bytes, and closes the connection.
type origin struct {
	addr string
	stop func() // ends it after its connections
	mu   sync.Mutex
	seen []string // requests
}

// startOrigin starts an origin. In the answer, NAME stands for its name.
func startOrigin(t *testing.T, name, answer string) *origin {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &origin{addr: l.Addr().String()}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(5 * time.Minute))
				r, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				first, rest, _ := strings.Cut(strings.ReplaceAll(answer, "NAME", name), "THEN")
				if rest != "" { // an answer before the content of the request
					io.WriteString(c, first)
					first = rest
				}
				text := o.describe(r)
				o.mu.Lock()
				o.seen = append(o.seen, text)
				o.mu.Unlock()
				io.WriteString(c, first)
			})
		}
	})
	o.stop = func() {
		l.Close()
		running.Wait()
	}
	t.Cleanup(o.stop)
	return o
}

// requests ends the origin and returns its requests.
func (o *origin) requests() []string {
	o.stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.seen)
}

var seals = regexp.MustCompile(`urlget-[0-9a-f]{32}`)

// describe returns a request as text: the line, the fields in order, the content and the trailer.
func (o *origin) describe(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	text := fmt.Sprintf("%s %s|%s", r.Method, r.RequestURI, strings.Replace(r.Host, o.addr, "ORIGIN", 1))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		text += fmt.Sprintf("|%s: %s", name, strings.Join(r.Header[name], ", "))
	}
	if text += "|" + string(body); err != nil {
		text += "|" + err.Error()
	}
	for _, name := range slices.Sorted(maps.Keys(r.Trailer)) {
		text += fmt.Sprintf("|%s: %s", name, r.Trailer.Get(name))
	}
	return seals.ReplaceAllString(text, "urlget-SEAL")
}

// converse sends bytes as they are, and returns the responses until the end of the connection, with the
// fields of each in order and without Date. Clean is false if the connection was reset.
func converse(t *testing.T, address, request string) (answer string, clean bool) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return "", false
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Minute))
	io.WriteString(c, request)
	b, err := io.ReadAll(c)
	return inOrder(string(b)), err == nil
}

// inOrder returns responses with their fields in order, and without Date.
func inOrder(text string) string {
	var out []string
	for part := range strings.SplitSeq(text, "\r\n\r\n") {
		lines := strings.Split(part, "\r\n")
		if strings.HasPrefix(part, "HTTP/1.") {
			slices.Sort(lines[1:])
		}
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "Date: ") })
		out = append(out, strings.Join(lines, "|"))
	}
	return strings.Join(out, "||")
}

// A proxy changes nothing that it forwards, except for what belongs to a connection. Two clients send each
// request at the same time, each to a server of its own.
func TestProxyChangesNothing(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-By: NAME\r\n\r\nok"
	const okay = "HTTP/1.1 200 OK|Content-Length: 2|Via: 1.1 urlget|X-By: NAME||ok"
	closing := func(answer string) string {
		return strings.Replace(answer, "|Content-Length", "|Connection: close|Content-Length", 1)
	}
	for name, tt := range map[string]struct {
		request string // the request line and the head without Host; URL stands for that of the server
		answer  string // of the server
		sees    string // what the server sees after the request line and Host; "" if nothing
		want    string // what the client gets
	}{
		"the path is not rewritten": {"GET URL//a%2Fb/%7e/./..//c;d?q=%41&[x]'!$()*,;:@ HTTP/1.1\r\n\r\n", ok,
			"GET //a%2Fb/%7e/./..//c;d?q=%41&[x]'!$()*,;:@|ORIGIN|Via: 1.1 urlget-SEAL|", okay},
		"what a URL cannot have is encoded": {"GET URL/%41{a}|\\?50%&<ü> HTTP/1.1\r\n\r\n", ok,
			"GET /%41%7Ba%7D|%5C?50%25&%3C%C3%BC%3E|ORIGIN|Via: 1.1 urlget-SEAL|", okay},
		"no path":                  {"GET URL HTTP/1.1\r\n\r\n", ok, "GET /|ORIGIN|Via: 1.1 urlget-SEAL|", okay},
		"no path, with a query":    {"GET URL?q HTTP/1.1\r\n\r\n", ok, "GET /?q|ORIGIN|Via: 1.1 urlget-SEAL|", okay},
		"OPTIONS of the server":    {"OPTIONS URL HTTP/1.1\r\n\r\n", ok, "OPTIONS *|ORIGIN|Via: 1.1 urlget-SEAL|", okay},
		"OPTIONS of a resource":    {"OPTIONS URL/ HTTP/1.1\r\n\r\n", ok, "OPTIONS /|ORIGIN|Via: 1.1 urlget-SEAL|", okay},
		"a method that is unknown": {"MAKE-IT URL/x HTTP/1.1\r\n\r\n", ok, "MAKE-IT /x|ORIGIN|Via: 1.1 urlget-SEAL|", okay},
		"GET with content": {"GET URL/_search HTTP/1.1\r\nContent-Length: 7\r\nContent-Type: x/y\r\n\r\n{\"q\":1}", ok,
			"GET /_search|ORIGIN|Content-Length: 7|Content-Type: x/y|Via: 1.1 urlget-SEAL|{\"q\":1}", okay},
		"DELETE with content": {"DELETE URL/x HTTP/1.1\r\nContent-Length: 2\r\n\r\nab", ok,
			"DELETE /x|ORIGIN|Content-Length: 2|Via: 1.1 urlget-SEAL|ab", okay},
		"POST without content": {"POST URL/x HTTP/1.1\r\nContent-Length: 0\r\n\r\n", ok,
			"POST /x|ORIGIN|Content-Length: 0|Via: 1.1 urlget-SEAL|", okay},
		"content with a trailer": {"PUT URL/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-Two\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-Other: 2\r\nContent-Length: 9\r\n\r\n", ok,
			"PUT /x|ORIGIN|Via: 1.1 urlget-SEAL|abc|X-Sum: 1|X-Two: ", closing(okay)},
		"conditions and ranges": {"GET URL/x HTTP/1.1\r\nRange: bytes=9-2, x\r\nIf-Range: \"v\"\r\nIf-None-Match: \"a\", W/\"b\"\r\nIf-Match: *\r\nIf-Unmodified-Since: x\r\n\r\n", ok,
			"GET /x|ORIGIN|If-Match: *|If-None-Match: \"a\", W/\"b\"|If-Range: \"v\"|If-Unmodified-Since: x|Range: bytes=9-2, x|Via: 1.1 urlget-SEAL|", okay},
		"fields of a connection": {"GET URL/x HTTP/1.1\r\nConnection: X-Hop , keep-alive\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nProxy-Connection: keep-alive\r\n" +
			"TE: trailers\r\nUpgrade: h2c\r\nProxy-Authorization: Basic eDp5\r\nAuthorization: Basic eDp5\r\nCookie: a=b\r\nX-Kept: 1\r\nX-Kept: 2\r\n\r\n", ok,
			"GET /x|ORIGIN|Authorization: Basic eDp5|Cookie: a=b|Via: 1.1 urlget-SEAL|X-Kept: 1, 2|", okay},
		"another proxy before": {"GET URL/x HTTP/1.1\r\nVia: 1.0 fred, 1.1 urlget-00000000000000000000000000000000 (c)\r\nMax-Forwards: 0\r\n\r\n", ok,
			"GET /x|ORIGIN|Max-Forwards: 0|Via: 1.0 fred, 1.1 urlget-SEAL (c), 1.1 urlget-SEAL|", okay},
		"HTTP/1.0": {"GET URL/x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", ok, "GET /x|ORIGIN|Via: 1.0 urlget-SEAL|",
			strings.Replace(closing(okay), "HTTP/1.1", "HTTP/1.0", 1)},
		"TRACE":        {"TRACE URL/x HTTP/1.1\r\nMax-Forwards: 7\r\n\r\n", ok, "TRACE /x|ORIGIN|Max-Forwards: 6|Via: 1.1 urlget-SEAL|", okay},
		"a status":     {"GET URL/x HTTP/1.1\r\n\r\n", "HTTP/1.1 299 Fine\r\nContent-Length: 0\r\n\r\n", "GET /x|ORIGIN|Via: 1.1 urlget-SEAL|", "HTTP/1.1 299 status code 299|Content-Length: 0|Via: 1.1 urlget||"},
		"status 999":   {"GET URL/x HTTP/1.1\r\n\r\n", "HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n", "GET /x|ORIGIN|Via: 1.1 urlget-SEAL|", "HTTP/1.1 999 status code 999|Content-Length: 0|Via: 1.1 urlget||"},
		"no Location":  {"GET URL/x HTTP/1.1\r\n\r\n", "HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\nno", "GET /x|ORIGIN|Via: 1.1 urlget-SEAL|", "HTTP/1.1 302 Found|Content-Length: 2|Via: 1.1 urlget||no"},
		"a choice":     {"GET URL/x HTTP/1.1\r\n\r\n", "HTTP/1.1 300 Multiple Choices\r\nContent-Length: 2\r\n\r\nno", "GET /x|ORIGIN|Via: 1.1 urlget-SEAL|", "HTTP/1.1 300 Multiple Choices|Content-Length: 2|Via: 1.1 urlget||no"},
		"a redirect":   {"GET URL/x HTTP/1.1\r\n\r\n", "HTTP/1.1 307 T\r\nLocation: ../a b%\r\nContent-Length: 2\r\n\r\nno", "GET /x|ORIGIN|Via: 1.1 urlget-SEAL|", "HTTP/1.1 307 Temporary Redirect|Content-Length: 2|Location: ../a b%|Via: 1.1 urlget||no"},
		"not modified": {"GET URL/x HTTP/1.1\r\n\r\n", "HTTP/1.1 304 N\r\nContent-Length: 7\r\nETag: x\r\n\r\n", "GET /x|ORIGIN|Via: 1.1 urlget-SEAL|", "HTTP/1.1 304 Not Modified|Etag: x|Via: 1.1 urlget||"},
		"a range that was not requested": {"GET URL/x HTTP/1.1\r\n\r\n", "HTTP/1.1 206 P\r\nContent-Range: bytes 5-9/x\r\nContent-Length: 2\r\n\r\nok", "GET /x|ORIGIN|Via: 1.1 urlget-SEAL|",
			"HTTP/1.1 206 Partial Content|Content-Length: 2|Content-Range: bytes 5-9/x|Via: 1.1 urlget||ok"},
		"fields of the server's connection": {"GET URL/x HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: X-Hop, close\r\nX-Hop: 1\r\nConnection: x-two\r\nX-Two: 2\r\nKeep-Alive: 1\r\nUpgrade: h2c\r\nProxy-Authenticate: Basic realm=\"x\"\r\n" +
			"Proxy-Authentication-Info: x\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\nAge: 7200abc\r\nWWW-Authenticate: Basic\r\nContent-MD5: AAAA\r\nVia: 1.0 x\r\nContent-Length: 2\r\n\r\nok", "GET /x|ORIGIN|Via: 1.1 urlget-SEAL|",
			"HTTP/1.1 200 OK|Age: 7200abc|Content-Length: 2|Content-Md5: AAAA|Set-Cookie: a=b|Set-Cookie: c=d|Via: 1.0 x|Via: 1.1 urlget|Www-Authenticate: Basic||ok"},
		"the same, after content": {"PUT URL/x HTTP/1.1\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close,\r\n X-Hop\r\nX-Hop: 1\r\nContent-Length: 2\r\n\r\nok",
			"PUT /x|ORIGIN|Content-Length: 2|Via: 1.1 urlget-SEAL|ab", "HTTP/1.1 100 Continue||HTTP/1.1 200 OK|Content-Length: 2|Via: 1.1 urlget||ok"},
		"a coding that was not requested": {"GET URL/x HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok", "GET /x|ORIGIN|Via: 1.1 urlget-SEAL|",
			"HTTP/1.1 200 OK|Content-Encoding: gzip|Content-Length: 2|Content-Type: text/html|Via: 1.1 urlget||ok"},
		"HEAD": {"HEAD URL/x HTTP/1.1\r\n\r\n", "HTTP/1.1 405 No\r\nAllow: GET\r\nContent-Length: 77\r\n\r\n", "HEAD /x|ORIGIN|Via: 1.1 urlget-SEAL|",
			"HTTP/1.1 405 Method Not Allowed|Allow: GET|Content-Length: 77|Via: 1.1 urlget||"},
		"chunks with a trailer": {"GET URL/x HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\nX-Late: 2\r\nContent-Length: 3\r\n\r\n", "GET /x|ORIGIN|Via: 1.1 urlget-SEAL|",
			"HTTP/1.1 200 OK|Trailer: X-Sum|Transfer-Encoding: chunked|Via: 1.1 urlget||2|ok|0|X-Late: 2|X-Sum: 1||"},
		"informational responses": {"GET URL/x HTTP/1.1\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </s>\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + ok, "GET /x|ORIGIN|Via: 1.1 urlget-SEAL|",
			"HTTP/1.1 103 Early Hints|Link: </s>||HTTP/1.1 102 Processing||" + okay},
		"informational responses to HTTP/1.0": {"GET URL/x HTTP/1.0\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n" + ok, "GET /x|ORIGIN|Via: 1.0 urlget-SEAL|",
			strings.Replace(closing(okay), "HTTP/1.1", "HTTP/1.0", 1)},
		"permission to continue": {"PUT URL/x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 100 Continue\r\n\r\nTHEN" + ok,
			"PUT /x|ORIGIN|Connection: close|Content-Length: 2|Expect: 100-continue|Via: 1.1 urlget-SEAL|ab", "HTTP/1.1 100 Continue||" + okay},
		"no permission to continue": {"PUT URL/x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\nTHEN ",
			"PUT /x|ORIGIN|Connection: close|Content-Length: 2|Expect: 100-continue|Via: 1.1 urlget-SEAL||unexpected EOF", "HTTP/1.1 417 Expectation Failed|Connection: close|Content-Length: 0|Via: 1.1 urlget||"},
		"a blank before a colon": {"\r\nGET URL/x HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nX-By : NAME\r\nContent-Length: 2\r\n\r\nok", "GET /x|ORIGIN|Via: 1.1 urlget-SEAL|", okay},
		"an old server": {"GET URL/x HTTP/1.1\r\n\r\n", "HTTP/1.0 200 OK\r\nX-By: NAME\r\n\r\nok", "GET /x|ORIGIN|Via: 1.1 urlget-SEAL|",
			"HTTP/1.1 200 OK|Transfer-Encoding: chunked|Via: 1.0 urlget|X-By: NAME||2|ok|0||"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := startProxy(t, true)
			var clients sync.WaitGroup
			for _, by := range []string{"one", "two"} {
				o := startOrigin(t, by, tt.answer)
				clients.Go(func() {
					request := strings.Replace(tt.request, "URL", "http://"+o.addr, 1)
					if !strings.Contains(request, "HTTP/1.0") {
						request = strings.Replace(request, " HTTP/1.1\r\n", " HTTP/1.1\r\nHost: another.example\r\n", 1)
						request += "GET http://x HTTP/9.9\r\n\r\n" // which ends a connection that is kept
					}
					got, _ := converse(t, address, request)
					got, _, _ = strings.Cut(got, "HTTP/1.1 505")
					if want := strings.ReplaceAll(tt.want, "NAME", by); got != want {
						t.Errorf("got  %q\nwant %q", got, want)
					}
					if seen := o.requests(); !slices.Equal(seen, []string{tt.sees}) {
						t.Errorf("the server saw %q\nwant             %q", seen, tt.sees)
					}
				})
			}
			clients.Wait()
		})
	}
}

// A response whose framing is wrong is a 502 with the reason, or does not end cleanly.
func TestBrokenResponses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ answer, want string }{
		"two lengths":        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!", "Content-Length"},
		"a bad length":       {"HTTP/1.1 200 OK\r\nContent-Length: 2x\r\n\r\nok", "Content-Length"},
		"a negative length":  {"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok", "Content-Length"},
		"an unknown coding":  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "transfer encoding"},
		"no HTTP":            {"SSH-2.0-x\r\n", "the server does not speak HTTP"},
		"no status":          {"HTTP/1.1 000 X\r\nContent-Length: 0\r\n\r\n", "status 000"},
		"another protocol":   {"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "status 101"},
		"nothing":            {"", "closed the connection without a response"},
		"a cut head":         {"HTTP/1.1 200 OK\r\nX: ", "EOF"},
		"no colon":           {"HTTP/1.1 200 OK\r\nX\r\n\r\n", "no colon"},
		"too many heads":     {strings.Repeat("HTTP/1.1 102 P\r\n\r\n", 101) + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "more than 100 informational responses"},
		"a cut body":         {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", ""},
		"cut chunks":         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", ""},
		"a bad chunk":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nx\r\n", ""},
		"a chunk without CR": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n1\nx\n0\r\n\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := startProxy(t, true)
			for _, version := range []string{"1.0", "1.1"} {
				for _, by := range []string{"one", "two"} {
					o := startOrigin(t, by, tt.answer)
					got, clean := converse(t, address, "GET http://"+o.addr+"/ HTTP/"+version+"\r\nHost: h\r\nConnection: close\r\n\r\n")
					if tt.want == "" {
						if clean && !strings.Contains(got, "Content-Length: 9") && !strings.Contains(got, "chunked") || strings.Contains(got, "|0|") {
							t.Errorf("HTTP/%s: the response ended cleanly: %q", version, got)
						}
						continue
					}
					got = strings.ReplaceAll(got, "HTTP/1.1 102 Processing||", "")
					if !strings.HasPrefix(got, "HTTP/"+version+" 502") || !strings.Contains(got, tt.want) {
						t.Errorf("HTTP/%s: got %q, want a 502 with %q", version, got, tt.want)
					}
				}
			}
		})
	}
}

// Requests that are broken, or that a proxy must not forward, reach no server, and end the connection.
func TestRefusedProxyRequests(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ request, want string }{
		"a length and chunks":          {"POST URL HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET URL/smuggled HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200"},
		"chunks of HTTP/1.0":           {"POST URL HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET URL/smuggled HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.0 411"},
		"content without a length":     {"PUT URL HTTP/1.0\r\n\r\ncontent", "HTTP/1.0 411"},
		"two lengths":                  {"POST URL HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n123456", "HTTP/1.1 400"},
		"a list of lengths":            {"POST URL HTTP/1.1\r\nHost: h\r\nContent-Length: 5, 5\r\n\r\n12345", "HTTP/1.1 400"},
		"a sign":                       {"POST URL HTTP/1.1\r\nHost: h\r\nContent-Length: +5\r\n\r\n12345", "HTTP/1.1 400"},
		"chunked twice":                {"POST URL HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 501"},
		"another coding":               {"POST URL HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 501"},
		"a blank before the colon":     {"POST URL HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 400"},
		"a tab after the coding":       {"POST URL HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 "},
		"a chunk without CR":           {"POST URL HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n", "HTTP/1.1 400"},
		"a chunk size that is too big": {"POST URL HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\nx", "HTTP/1.1 400"},
		"two hosts":                    {"GET URL HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", "HTTP/1.1 400"},
		"no host":                      {"GET URL HTTP/1.1\r\n\r\n", "HTTP/1.1 400"},
		"NUL in a field":               {"GET URL HTTP/1.1\r\nHost: h\r\nX: a\x00b\r\n\r\n", "HTTP/1.1 400"},
		"CR in a field":                {"GET URL HTTP/1.1\r\nHost: h\r\nX: a\rY: b\r\n\r\n", "HTTP/1.1 400"},
		"HEAD with content":            {"HEAD URL HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12345", "HTTP/1.1 400"},
		"TRACE with content":           {"TRACE URL HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12345", "HTTP/1.1 400"},
		"CONNECT with content":         {"CONNECT ADDR HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12345", "HTTP/1.1 400"},
		"CONNECT with a URL":           {"CONNECT URL HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 400"},
		"CONNECT without a port":       {"CONNECT 127.0.0.1 HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 400"},
		"a login in the URL":           {"GET http://u:p@ADDR/ HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 400"},
		"a fragment":                   {"GET URL/#x HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 400"},
		"an old prefix":                {"GET uRL:URL HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 400"},
		"no host in the URL":           {"GET cid:a@b HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 400"},
		"another expectation":          {"PUT URL HTTP/1.1\r\nHost: h\r\nExpect: x\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 417"},
		"HTTP/2":                       {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 505"},
		"a blank in the URL":           {"GET URL/a b HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := startProxy(t, true)
			for _, by := range []string{"one", "two"} {
				o := startOrigin(t, by, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				request := strings.NewReplacer("URL", "http://"+o.addr, "ADDR", o.addr).Replace(tt.request)
				got, _ := converse(t, address, request)
				if !strings.HasPrefix(got, tt.want) || strings.Count(got, "HTTP/1.") != 1 {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				for _, seen := range o.requests() {
					if !strings.HasPrefix(tt.want[8:], " 200") && !strings.Contains(seen, "malformed") && !strings.Contains(seen, "EOF") || strings.Contains(seen, "smuggled") {
						t.Errorf("the server saw %q", seen)
					}
				}
			}
		})
	}
}

// A request that may not be forwarded is answered by the proxy, without the secrets in it.
func TestMaxForwards(t *testing.T) {
	t.Parallel()
	address := startProxy(t, true)
	for request, want := range map[string]string{
		"TRACE URL/x HTTP/1.1\r\nHost: h\r\nMax-Forwards: 0\r\nConnection: close\r\nCookie: sid=1\r\nX-Session: 2\r\nX-Seen: 3\r\n\r\n": "HTTP/1.1 200 OK|Connection: close|Content-Length: 109|Content-Type: message/http||TRACE URL/x HTTP/1.1|Host: ADDR|Connection: close|Max-Forwards: 0|X-Seen: 3||",
		"OPTIONS URL/ HTTP/1.1\r\nHost: h\r\nMax-Forwards: 0\r\nConnection: close\r\n\r\n":                                              "HTTP/1.1 200 OK|Allow: CONNECT, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, TRACE|Connection: close|Content-Length: 0||",
		"OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n":                                                                    "HTTP/1.1 200 OK|Allow: CONNECT, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, TRACE|Connection: close|Content-Length: 0||",
	} {
		for _, by := range []string{"one", "two"} {
			o := startOrigin(t, by, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			fill := strings.NewReplacer("URL", "http://"+o.addr, "ADDR", o.addr)
			got, _ := converse(t, address, fill.Replace(request))
			size := regexp.MustCompile(`Content-Length: \d+`)
			if want := fill.Replace(want); size.ReplaceAllString(got, "") != size.ReplaceAllString(want, "") {
				t.Errorf("%q:\ngot  %q\nwant %q", request, got, want)
			}
			if seen := o.requests(); len(seen) > 0 {
				t.Errorf("the server saw %q", seen)
			}
		}
	}
}

// A request that comes back to a proxy ends there. That of another proxy of the same kind does not.
func TestProxyEndsLoops(t *testing.T) {
	t.Parallel()
	first, second := startProxy(t, true), startProxy(t, true)
	var via []string
	site, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { via = append(via, r.Header.Values("Via")[1]) })}
	go server.Serve(site)
	t.Cleanup(func() { server.Close() })
	ask := func(address, via string) string {
		got, _ := converse(t, address, fmt.Sprintf("GET http://%s/ HTTP/1.1\r\nHost: h\r\nConnection: close\r\nVia: %s\r\n\r\n", site.Addr(), via))
		return got[:min(len(got), len("HTTP/1.1 200"))]
	}
	for _, address := range []string{first, second} {
		if got := ask(address, "1.1 urlget"); got != "HTTP/1.1 200" {
			t.Fatalf("a first request: %q", got)
		}
	}
	if via[0] == via[1] || len(via) != 2 {
		t.Fatalf("two proxies have the names %q", via)
	}
	for i, address := range []string{first, second} {
		if got := ask(address, "1.0 x, "+via[i]+" (y), 1.1 z"); got != "HTTP/1.1 508" {
			t.Errorf("its own request: %q", got)
		}
		if got := ask(address, via[1-i]); got != "HTTP/1.1 200" {
			t.Errorf("that of the other: %q", got)
		}
	}
}
