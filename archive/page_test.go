package archive_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/archive"
)

func TestImportHAR(t *testing.T) {
	t.Parallel()
	entry := func(request, response string) string {
		return `{"startedDateTime":"2026-01-02T03:04:05.678+01:00","time":5,"serverIPAddress":"[2001:db8::1]","request":` + request + `,"response":` + response + `}`
	}
	const fetched = `{"method":"GET","url":"http://h.example/a?b#c","headers":[{"name":":authority","value":"h.example"},{"name":"Cookie","value":"a=b"}]}`
	sent := `{"method":"POST","url":"https://h.example:8443","headers":[],"postData":{"mimeType":"application/json","text":"{}"}}`
	shown := func(status, headers, content string) string {
		return `{"status":` + status + `,"statusText":"","httpVersion":"h2","headers":[` + headers + `],"content":` + content + `}`
	}
	for _, tt := range []struct {
		name, entry string
		want        []string // the blocks of the records
		problem     string
	}{
		{"a text", entry(fetched, shown("200", `{"name":"content-type","value":"text/html; charset=koi8-r"},{"name":"content-encoding","value":"br"},{"name":"content-length","value":"2"}`,
			`{"size":5,"mimeType":"text/html","text":"p\u00e4ar"}`)),
			[]string{"HTTP/1.1 200\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 5\r\n\r\npäar", "GET /a?b HTTP/1.1\r\nHost: h.example\r\nCookie: a=b\r\n\r\n"}, ""},
		{"bytes", entry(sent, shown("200", `{"name":"Set-Cookie","value":"a=b\nc=d"},{"name":"bad name","value":"x"}`, `{"size":2,"mimeType":"image/png","encoding":"base64","text":"/wA="}`)),
			[]string{"HTTP/1.1 200\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\nContent-Type: image/png\r\nContent-Length: 2\r\n\r\n\xff\x00",
				"POST / HTTP/1.1\r\nHost: h.example:8443\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"}, ""},
		{"a redirect", entry(fetched, shown("301", `{"name":"Location","value":"/b\r\nX: y"}`, `{"size":0}`)),
			[]string{"HTTP/1.1 301\r\nLocation: /b\r\nLocation: X: y\r\nContent-Length: 0\r\n\r\n", ""}, ""},
		{"a validated response", entry(fetched, shown("304", "", `{"size":1,"mimeType":"image/svg+xml","text":"x"}`)),
			[]string{"HTTP/1.1 200 OK\r\nContent-Type: image/svg+xml\r\nContent-Length: 1\r\n\r\nx", ""}, ""},
		{"no content", entry(fetched, shown("200", "", `{"size":5}`)), nil, "entry 1: the content was not exported"},
		{"no response", entry(fetched, shown("0", "", `{}`)), nil, "entry 1: no response"},
		{"wrong base64", entry(fetched, shown("200", "", `{"text":"!","encoding":"base64"}`)), nil, "entry 1: illegal base64"},
		{"no date", strings.Replace(entry(fetched, shown("200", "", `{}`)), `"startedDateTime":"2026-01-02T03:04:05.678+01:00",`, "", 1), nil, "entry 1: no date"},
		{"another scheme", entry(`{"method":"GET","url":"data:,x"}`, shown("200", "", `{}`)), nil, ""},
	} {
		file := "\ufeff\n{\"log\":{\"version\":\"1.2\",\"pages\":[{}],\"entries\":[" + tt.entry + "]}}"
		list, problems, _ := imported(t, func(m *archive.Importer) error { return m.HAR(t.Context(), strings.NewReader(file), "a.har") })
		if len(list) != len(tt.want) || len(problems) > 1 || !strings.Contains(fmt.Sprint(problems), tt.problem) || (tt.problem == "") != (problems == nil) {
			t.Errorf("%s: %d records, %q", tt.name, len(list), problems)
			continue
		}
		for i, want := range tt.want {
			if r := list[i]; want != "" && string(r.Block) != want {
				t.Errorf("%s: %q\nwant %q", tt.name, r.Block, want)
			} else if r.Field("WARC-Date") != "2026-01-02T02:04:05.678000Z" || r.Field("WARC-IP-Address") != "2001:db8::1" || strings.Contains(r.Field("WARC-Target-URI"), "#") {
				t.Errorf("%s: %v", tt.name, r.Fields)
			}
		}
	}
}

func TestImportMHTML(t *testing.T) {
	t.Parallel()
	file := strings.ReplaceAll(`From: <Saved by Blink>
Snapshot-Content-Location: http://h.example/a
Date: Fri, 2 Jan 2026 03:04:05 -0000
MIME-Version: 1.0
Content-Type: multipart/related;
	type="text/html";
	boundary="B"

--B
Content-Type: text/html; charset=utf-8
Content-ID: <frame-1@mhtml.blink>
Content-Transfer-Encoding: quoted-printable
Content-Location: http://h.example/a

<p class=3D"a">p=C3=A4ar
--B
Content-Type: image/png
Content-Transfer-Encoding: base64
Content-Location: https://h.example/b.png

/wA=
--B
Content-Type: text/css
Content-Location: cid:css-1@mhtml.blink

p {}
--B--
`, "\n", "\r\n")
	path := filepath.Join(t.TempDir(), "a.mhtml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	if kind, err := archive.KindOf(path); kind != archive.MHTML || err != nil {
		t.Errorf("%s, %v", kind, err)
	}
	list, problems, _ := imported(t, func(m *archive.Importer) error {
		return m.MHTML(t.Context(), strings.NewReader(file), "a.mhtml", time.Unix(0, 0))
	})
	if len(list) != 4 || len(problems) != 1 || problems[0] != "a.mhtml: part 3 has no URL" {
		t.Fatalf("%d records, %q", len(list), problems)
	}
	for i, want := range []string{"http://h.example/a text/html; charset=utf-8 <p class=\"a\">päar", "https://h.example/b.png image/png \xff\x00"} {
		r := list[2*i]
		if got := r.Field("WARC-Target-URI") + " " + r.Field("Content-Type") + " " + string(r.Block); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if r.Field("WARC-Date") != "2026-01-02T03:04:05.000000Z" {
			t.Errorf("date %s", r.Field("WARC-Date"))
		}
	}
}
