package uri

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// seeds are references of every supported form.
var seeds = []string{
	"", "a/../b?c#d", "//h/x", "http://User:p%40@EXAMPLE.com:80/a/./b/../c%7e?d=%41#e", "http://h?q#", "x:/.//y", "./a:b",
	"http://0x7f.1/", "http://017700000001", "http://[fe80::1%25eth0]:8/", "http://bücher.example/", "http://１２７.１/",
	"ftp://myname@host.dom/%2Fetc/motd;type=a", "ftp://@h//etc/motd", "ftp://foo:@h/a/;type=d", "ftp://h/x;type=L%208",
	"gopher://h/00/dir/file", "gopher://h/7/sel?x%09search%09+view%20lang",
	"gopher://h/0s%09%09+%091%0D%0A+-1%0D%0Aone%0D%0Atwo%0D%0A.%0D%0A", "gopher://h/0a%0D%0AQUIT",
	"news:*", "news:a/b?c=d@x.org", "news://h/comp.*", "nntp://h/a.b/12", "nntp:a.b/12", "telnet://u:p@h/", "rlogin://u@h",
	"wais://h/db?a+b", "wais://h/db/TEXT/4096/1=h%3A210;2=d;3=%00;", "file:///C|/x", "file:/etc/motd",
	"mailto:a@b,c%2Cd@e?subject=x&body=one%0D%0Atwo&to=f@g", "prospero://h//pros/name;OBJECT-VERSION=3", "prospero://h/a%0012x",
	"mid:a/b@c/d@e", "cid:a%25b@c", "data:text/plain,a/../b",
	"<URL:ftp://h/a-\n  b>", "URL: http://h/a b", "ftp://joe@x:p[@h/ü%", "http://[fe80::1%eth0]/#a#b",
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := Parse(s)
		if err != nil {
			if !u.IsZero() {
				t.Errorf("%q: %q beside the error %v", s, u, err)
			}
			return
		}
		if u.String() != s {
			t.Errorf("%q: printed as %q", s, u)
		}
		if strings.ContainsAny(u.Path()+u.Host(), "\x00\r\n\t ") || hasControl(u.LastSegment()) {
			t.Errorf("%q: control byte in path %q, host %q or name %q", s, u.Path(), u.Host(), u.LastSegment())
		}
		login := u.Userinfo()
		if hasControl(login.Name) || hasControl(login.Password) {
			t.Errorf("%q: login %q, %q", s, login.Name, login.Password)
		}
		if r, err := Parse(u.Redacted()); err != nil || r.WithoutUserinfo() != u.WithoutUserinfo() {
			t.Errorf("%q: redacted as %q, %v", s, u.Redacted(), err)
		}
		n := u.Normalize()
		if n.IsZero() && s != "" && s != "#" {
			t.Errorf("%q cannot be normalised", s)
		}
		if again := n.Normalize(); again != n {
			t.Errorf("%q: normalised as %q, then as %q", s, n, again)
		}
		if n.Host() != u.Host() && u.Scheme() != "file" {
			t.Errorf("%q: host %q becomes %q", s, u.Host(), n.Host())
		}
	})
}

func FuzzParseLoose(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, parse := range []func(string) (URI, error){ParseLoose, ParseRef} {
			u, err := parse(s)
			if err != nil {
				continue
			}
			if again, err := Parse(u.String()); err != nil || again != u {
				t.Errorf("%q gives %q, which parses to %q, %v", s, u, again, err)
			}
		}
	})
}

func FuzzExtract(f *testing.F) {
	for _, s := range seeds {
		f.Add("see <URL:" + s + ">, <" + s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		for u, err := range Extract(text) {
			n++
			if err == nil && !u.IsAbs() {
				t.Errorf("%q gives the relative %q", text, u)
			}
			if err != nil && !u.IsZero() {
				t.Errorf("%q gives %q beside the error %v", text, u, err)
			}
		}
		if n > strings.Count(text, "<") {
			t.Errorf("%q gives %d URLs", text, n)
		}
	})
}

func FuzzResolve(f *testing.F) {
	for _, s := range seeds {
		f.Add("http://a/b/c/d;p?q", s)
		f.Add(s, "../g//h/./i")
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		b, err := Parse(base)
		if err != nil {
			return
		}
		r, err := Parse(ref)
		if err != nil {
			return
		}
		got := b.Resolve(r)
		if b.IsAbs() && !got.IsAbs() {
			t.Errorf("%q in %q: got %q", ref, base, got)
		}
		// The host is that of the reference, or of the base if the reference has none.
		switch {
		case r.IsAbs() || r.HasAuthority():
			if got.Host() != r.Host() {
				t.Errorf("%q in %q: got host %q", ref, base, got.Host())
			}
		case got.Host() != b.Host():
			t.Errorf("%q in %q: got host %q", ref, base, got.Host())
		}
		if again, err := Parse(got.String()); err != nil || again != got {
			t.Errorf("%q in %q: %q parses to %q, %v", ref, base, got, again, err)
		}
	})
}

func FuzzJoinPath(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "a", "b/c d")
		f.Add(s, "..", "*?%2F;type=a/")
	}
	f.Fuzz(func(t *testing.T, base, one, two string) {
		b, err := Parse(base)
		if err != nil {
			return
		}
		u, err := b.JoinPath(one, two)
		if err != nil {
			if !u.IsZero() {
				t.Errorf("%q with %q and %q: %q beside the error %v", base, one, two, u, err)
			}
			return
		}
		if again, err := Parse(u.String()); err != nil || again != u {
			t.Errorf("%q with %q and %q: %q parses to %q, %v", base, one, two, u, again, err)
		}
		if u.Scheme() != b.Scheme() || u.Origin() != b.Origin() || u.Userinfo() != b.Userinfo() {
			t.Errorf("%q with %q and %q: %q is on another server", base, one, two, u)
		}
		// The result is below the base: no CWD or segment leads out of it.
		if f, err := ParseFTP(u); err == nil {
			from, err := ParseFTP(Must(b.JoinPath()))
			if err != nil {
				t.Fatalf("%q: %v", base, err)
			}
			dir := from.CWD
			if from.Name != "" {
				dir = append(slices.Clip(dir), from.Name)
			}
			all := append(slices.Clip(f.CWD), f.Name)
			if len(all) < len(dir) || !slices.Equal(all[:len(dir)], dir) {
				t.Fatalf("%q with %q and %q: %q is not below it", base, one, two, u)
			}
			for _, name := range all[len(dir):] {
				if name == ".." || strings.Contains(name, "/") {
					t.Errorf("%q with %q and %q: %q in %q", base, one, two, name, u)
				}
			}
		}
	})
}

func FuzzDecoders(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseLoose(s)
		if err != nil {
			return
		}
		v, err := decodeURL(u)
		if v == nil || err != nil {
			return
		}
		checkNoControl(t, s, reflect.ValueOf(v))
		printed, err := v.URI()
		if err != nil {
			t.Fatalf("%q: %#v cannot be written: %v", s, v, err)
		}
		again, err := decodeURL(printed)
		if err != nil || !reflect.DeepEqual(again, v) {
			t.Errorf("%q: %#v is written %q, which gives %#v, %v", s, v, printed, again, err)
		}
		if w, ok := v.(WAIS); ok {
			if fields, size, ok := w.RawFields(); ok {
				back, n, ok := WAIS{WPath: FormatWAISPath(fields, size)}.RawFields()
				if !ok || n != size || !reflect.DeepEqual(back, fields) {
					t.Errorf("%q: fields %v come back as %v", s, fields, back)
				}
			}
		}
	})
}

// checkNoControl fails if any string of v contains CR, LF or NUL.
func checkNoControl(t *testing.T, s string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		if hasControl(v.String()) {
			t.Errorf("%q: decoded to %q", s, v)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			checkNoControl(t, s, field)
		}
	case reflect.Slice:
		for i := range v.Len() {
			checkNoControl(t, s, v.Index(i))
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a/b;c%41\x00ü\xff")
	f.Fuzz(func(t *testing.T, s string) {
		escaped := Escape(s)
		if back := UnescapeRaw(escaped); back != s {
			t.Errorf("%q: %q comes back as %q", s, escaped, back)
		}
		if _, err := Parse(escaped); err != nil {
			t.Errorf("%q: %v", s, err)
		}
		if d, err := Unescape(s); err == nil && hasControl(d) {
			t.Errorf("%q: decoded to %q", s, d)
		}
	})
}
