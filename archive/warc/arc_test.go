package warc

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// arc returns an ARC record of version 1, or of version 2 if more fields are given.
func arc(url, contentType, more, block string) string {
	return fmt.Sprintf("%s 192.0.2.7 20010203040506 %s%s %d\n%s\n", url, contentType, more, len(block), block)
}

func TestARC(t *testing.T) {
	t.Parallel()
	const two = " 200 - - 0 a.arc"
	about := arc("filedesc://a.arc", "text/plain", "", "1 0 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n")
	page := "HTTP/1.1 200 OK\r\n\r\npear"
	parts := []string{about, arc("http://h/1", "text/html", "", page), arc("http://h/2", "text/html", two, page),
		arc("http://h/a b", "text/html; charset=x", "", page), arc("dns:h", "text/dns", "", "h. 1 IN A 192.0.2.7"), arc("ftp://h/f", "text/plain", two, "")}
	want := []string{"ARC/1 warcinfo  76 bytes", "ARC/1 response http://h/1 " + page, "ARC/2 response http://h/2 " + page, "ARC/1 response http://h/a b " + page,
		"ARC/1 resource dns:h h. 1 IN A 192.0.2.7", "ARC/2 resource ftp://h/f "}
	whole := strings.Join(parts, "")
	for name, file := range map[string]string{"plain": whole, "a member for each record": string(zipped(parts...)), "one member": string(zipped(whole)),
		"no line end after the last record": strings.TrimSuffix(whole, "\n")} {
		if got := read(t, []byte(file)); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, want)
		}
	}
	for name, damaged := range map[string]string{"plain": about + "rubbish\n" + strings.Join(parts[1:], ""), "gzip": string(zipped(slices.Concat([]string{about, "rubbish\n"}, parts[1:])...))} {
		got := read(t, []byte(damaged))
		if len(got) != len(want)+1 || !strings.HasPrefix(got[1], "damage at ") || !slices.Equal(slices.Delete(slices.Clone(got), 1, 2), want) {
			t.Errorf("damaged, %s:\ngot  %q\nwant %q", name, got, want)
		}
	}

	r, err := NewReader(strings.NewReader(parts[2]))
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if !rec.Date().Equal(time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)) || rec.Get("WARC-IP-Address") != "192.0.2.7" || rec.ID() != "" {
		t.Errorf("%v", rec.Header)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("after the last record: %v", err)
	}

	s, err := Verify(strings.NewReader(whole), func(p Problem) { t.Errorf("problem: %+v", p) })
	if err != nil || s.Records != 6 || s.Types["response"] != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	var urls []string
	file := zipped(parts...)
	if _, err := Index(bytes.NewReader(file), "a.arc.gz", func(e IndexEntry) error {
		urls = append(urls, fmt.Sprint(e.URL, " ", e.Status))
		r, _ := NewReader(bytes.NewReader(file[e.Offset : e.Offset+e.Length]))
		if rec, err := r.Next(); err != nil || rec.TargetURI() != e.URL {
			t.Errorf("%+v refers to %v, %v", e, rec, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"http://h/1 200", "http://h/2 200", "http://h/a b 200", "dns:h 0", "ftp://h/f 0"}; !slices.Equal(urls, want) {
		t.Errorf("index of %q, want %q", urls, want)
	}
}

// Lines that are similar to the first line of an ARC record are damage.
func TestNotARC(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"http://h/", "http://h/ 192.0.2.7 20010203040506 4", "http://h/ 192.0.2.7 2001020304050 text/html 4", "http://h/ 192.0.2 20010203040506 text/html 4",
		"http://h/ 192.0.2.7 20010203040506 text/html -4", "http://h/ 192.0.2.7 20010203040506 text/html x", "h 192.0.2.7 20010203040506 text/html 4",
		"192.0.2.7 20010203040506 text/html 4", "http://h/ 192.0.2.7 20010203040506 text/html 99999999999999999999"} {
		if rec := parseARC(line); rec != nil {
			t.Errorf("%q: %+v", line, rec)
		}
		if got := read(t, []byte(line+"\npear\n")); !slices.Equal(got, []string{"damage at 0"}) {
			t.Errorf("%q: %q", line, got)
		}
	}
}
