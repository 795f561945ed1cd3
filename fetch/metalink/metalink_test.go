package metalink

import (
	"fmt"
	"net/textproto"
	"reflect"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

const (
	sha1Digits = "d96b9a4b92a899c2099b7b31bddb5ca423bb9b30"
	sha256Zero = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

func document(inner string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><metalink xmlns="urn:ietf:params:xml:ns:metalink">` + inner + `</metalink>`
}

func TestParse(t *testing.T) {
	t.Parallel()
	files, err := parse(strings.NewReader(document(`<generator>x</generator><file name="dir/example.ext">
  <size>25</size><identity>Example</identity><x:y xmlns:x="other"><x:url>no</x:url></x:y>
  <hash type="md5">d41d8cd98f00b204e9800998ecf8427e</hash><hash type="sha-256">` + sha256Zero + `</hash><hash type="new">zz</hash>
  <pieces length="10" type="sha-1"><hash>` + sha1Digits + `</hash><hash>` + sha1Digits + `</hash><hash>` + sha1Digits + `</hash></pieces>
  <pieces length="10" type="unknown"><hash>x</hash></pieces>
  <url>ftp://late.example/example.ext</url><url priority="2" location="GB">http://second.example/example.ext</url>
  <url priority="1"> http://first.example/example.ext </url><url>no URL</url>
  <metaurl mediatype="torrent">http://h.example/t</metaurl></file>`)))
	if err != nil {
		t.Fatal(err)
	}
	f := files[0]
	var sources []string
	for _, s := range f.sources {
		sources = append(sources, fmt.Sprint(s.url, " ", s.priority))
	}
	want := []string{"http://first.example/example.ext 1", "http://second.example/example.ext 2", "ftp://late.example/example.ext 999999"}
	if len(files) != 1 || f.name != "dir/example.ext" || f.size != 25 || f.checksum != "sha256:"+sha256Zero || len(f.pieces.Sums) != 3 ||
		f.pieces.Length != 10 || !reflect.DeepEqual(sources, want) {
		t.Errorf("%+v, sources %q", f, sources)
	}
}

func TestParseRefusesOtherDocuments(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, err string }{
		"nothing":              {"", "unexpected EOF"},
		"another document":     {"<html></html>", "not a Metalink document of version 4"},
		"version 3":            {`<metalink version="3.0" xmlns="http://www.metalinker.org/"><files/></metalink>`, "not a Metalink document of version 4"},
		"no file":              {document(""), "it does not describe a file"},
		"cut off":              {document(`<file name="a"><size>1</size>`)[:120], "unexpected EOF"},
		"no name":              {document(`<file/>`), "is not a valid file name"},
		"a name that climbs":   {document(`<file name="../a"/>`), "is not a valid file name"},
		"one that does inside": {document(`<file name="a/../../b"/>`), "is not a valid file name"},
		"an absolute name":     {document(`<file name="/etc/passwd"/>`), "is not a valid file name"},
		"a backslash":          {document(`<file name="a\b"/>`), "is not a valid file name"},
		"names by case":        {document(`<file name="d/README"/><file name="D/readme"/>`), "two files are named"},
		"names made equal":     {document(`<file name=".a"/><file name="_.a"/>`), "two files are named"},
		"one name twice":       {document(`<file name="a"/><file name="a"/>`), "two files are named"},
		"a size below 0":       {document(`<file name="a"><size>-1</size></file>`), "is not a size"},
		"a short hash":         {document(`<file name="a"><hash type="sha-256">00</hash></file>`), "is not a hash of type sha-256"},
		"too few pieces":       {document(`<file name="a"><size>25</size><pieces length="10" type="sha-1"><hash>` + sha1Digits + `</hash></pieces></file>`), "are not 1 pieces"},
		"pieces of 0":          {document(`<file name="a"><size>25</size><pieces length="0" type="sha-1"/></file>`), "is not a piece length"},
		"too deep":             {document(`<file name="a">` + strings.Repeat("<a>", 100)), "nested too deeply"},
		"too many sources":     {document(`<file name="a">` + strings.Repeat("<url>http://h.example/</url>", maxSources+1) + `</file>`), "the document is too large"},
		"a long text":          {document(`<file name="a"><size>` + strings.Repeat("1", maxText+1) + `</size></file>`), "the document is too large"},
	} {
		if files, err := parse(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %+v, error %v, want %s", name, files, err, tt.err)
		}
	}
}

func TestFromHeader(t *testing.T) {
	t.Parallel()
	base := uri.MustParse("http://h.example/d/f")
	const digest = "SHA-256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
	tests := []struct {
		name   string
		header textproto.MIMEHeader
		want   string // the sources except base
	}{
		{"as in RFC 6249", textproto.MIMEHeader{"Digest": {digest}, "Link": {`<http://www2.example/f>; rel=duplicate; pri=1; pref`,
			`<ftp://ftp.example/f>; rel=duplicate; pri=2; geo=gb; depth=1`, `<http://h.example/f.asc>; rel=describedby; type="a,b;c"`}}, "http://www2.example/f ftp://ftp.example/f"},
		{"in one field, by priority", textproto.MIMEHeader{"Repr-Digest": {"sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"},
			"Link": {`<g>;title="a, <b>; \"c";rel="other Duplicate" , </h>; rel=duplicate;pri=3`}}, "http://h.example/h http://h.example/d/g"},
		{"without a digest", textproto.MIMEHeader{"Link": {"<g>; rel=duplicate"}}, ""},
		{"with another's digest", textproto.MIMEHeader{"Digest": {"UNIXsum=1, SHA-256=AAAA"}, "Link": {"<g>; rel=duplicate"}}, ""},
		{"a document alone", textproto.MIMEHeader{"Digest": {digest}, "Link": {`<f.meta4>; rel="DescribedBy"; type="Application/Metalink4+xml; v=1"; name=x`}}, "(http://h.example/d/f.meta4 x)"},
		{"a document without a digest", textproto.MIMEHeader{"Link": {`<f.meta4>; rel=describedby; type="application/metalink4+xml"`}}, ""},
		{"more documents than make sense", textproto.MIMEHeader{"Digest": {digest}, "Link": {strings.Repeat(`<m>; rel=describedby; type="application/metalink4+xml",`, 5)}},
			strings.TrimSpace(strings.Repeat("(http://h.example/d/m ) ", maxDescriptions))},
		{"without duplicates", textproto.MIMEHeader{"Digest": {digest}, "Link": {"<g>; rel=next"}}, ""},
		{"broken", textproto.MIMEHeader{"Digest": {digest}, "Link": {`<g; rel=duplicate`, `<g>; rel="duplicate`}}, "http://h.example/d/g"},
	}
	for _, tt := range tests {
		f := fromHeader(base, tt.header)
		var got []string
		if f != nil {
			for _, s := range f.sources[1:] {
				got = append(got, s.url.String())
			}
			for _, d := range f.descriptions {
				got = append(got, fmt.Sprintf("(%v %s)", d.url, d.name))
			}
			if f.checksum != "sha256:"+sha256Zero || f.sources[0].url.String() != base.String() {
				t.Errorf("%s: %+v", tt.name, f)
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, s, tt.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	pieces := "<size>25</size>" + `<pieces length="25" type="sha-1"><hash>` + sha1Digits + `</hash></pieces>`
	tests := []struct {
		name, document, in string
		size               int64
		checksum           string
		err, want          string // want: the checksum's kind, size, pieces and sources
	}{
		{"pieces and sources", `<file name="other">` + pieces + `<url priority="2">ftp://m.example/f</url><url>http://h.example/f</url></file>`, "", 25, "md5:1", "", "md5 25 1 2"},
		{"its size", `<file name="f">` + pieces + "</file>", "", -1, "md5:1", "", "md5 25 1 1"},
		{"a better checksum", `<file name="f"><hash type="sha-256">` + sha256Zero + `</hash></file>`, "f", -1, "md5:1", "", "sha256 -1 0 1"},
		{"a weaker checksum", `<file name="f"><hash type="sha-1">` + sha1Digits + `</hash></file>`, "", -1, "sha256:1", "", "sha256 -1 0 1"},
		{"the same checksum", `<file name="f"><hash type="sha-1">` + sha1Digits + `</hash></file>`, "", -1, "sha1:" + strings.ToUpper(sha1Digits), "", "sha1 -1 0 1"},
		{"another checksum", `<file name="f"><hash type="sha-1">` + sha1Digits + `</hash></file>`, "", -1, "sha1:1", "another sha1", ""},
		{"another size", `<file name="f">` + pieces + `</file>`, "", 24, "md5:1", "25 bytes, not 24", ""},
		{"one of several, by its name in the document", `<file name="f"/><file name="d/g">` + pieces + `</file>`, "d/g", -1, "md5:1", "", "md5 25 1 1"},
		{"one of several, by the name of a source", `<file name="g"/><file name="d/f">` + pieces + `</file>`, "", -1, "md5:1", "", "md5 25 1 1"},
		{"none of several", `<file name="g"/><file name="h"/>`, "", -1, "md5:1", "none of its 2", ""},
		{"not by that name", `<file name="f"/>`, "g", -1, "md5:1", "none of its 1", ""},
	}
	for _, tt := range tests {
		files, err := parse(strings.NewReader(document(tt.document)))
		if err != nil {
			t.Fatal(err)
		}
		f := &file{size: tt.size, checksum: tt.checksum, sources: []source{{url: uri.MustParse("http://h.example/f")}}}
		before := fmt.Sprint(*f)
		err = f.describe(files, tt.in)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || fmt.Sprint(*f) != before {
				t.Errorf("%s: %v, %+v", tt.name, err, f)
			}
			continue
		}
		n := 0
		if f.pieces != nil {
			n = len(f.pieces.Sums)
		}
		kind, _, _ := strings.Cut(f.checksum, ":")
		if got := fmt.Sprint(kind, " ", f.size, n, len(f.sources)); err != nil || got != tt.want {
			t.Errorf("%s: %v, %q, want %q", tt.name, err, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(document(`<file name="a"><size>5</size><hash type="md5">d41d8cd98f00b204e9800998ecf8427e</hash><pieces length="5" type="sha-1"><hash>` + sha1Digits + `</hash></pieces><url priority="1">http://h.example/</url></file>`))
	f.Fuzz(func(t *testing.T, text string) {
		files, err := parse(strings.NewReader(text))
		if err == nil && len(files) == 0 {
			t.Error("neither files nor an error")
		}
		for _, file := range files {
			if checkName(file.name) != nil || file.pieces != nil && int64(len(file.pieces.Sums)-1)*file.pieces.Length >= max(file.size, 1) {
				t.Errorf("%+v", file)
			}
		}
	})
}

func FuzzFromHeader(f *testing.F) {
	f.Add(`<g>;title="a, <b>; \"c";rel="other Duplicate" , </h>; rel=duplicate;pri=3`, "SHA-256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
	base := uri.MustParse("http://h.example/d/f")
	f.Fuzz(func(t *testing.T, link, digest string) {
		file := fromHeader(base, textproto.MIMEHeader{"Link": {link}, "Digest": {digest}})
		if file != nil && (file.checksum == "" || len(file.sources)+len(file.descriptions) < 2) {
			t.Errorf("%+v", file)
		}
	})
}

// A server must not choose a hidden file, an option of a command or a partial file.
func TestMetalinkNamesAreSafe(t *testing.T) {
	t.Parallel()
	files, err := Parse(strings.NewReader(document(`<file name=".ssh/-rf.part"><url>http://h.example/</url></file>`)))
	if err != nil {
		t.Fatal(err)
	}
	if name := files[0].Name; strings.ContainsAny(name[:1], ".-") || strings.Contains(name, "/-") || strings.HasSuffix(name, ".part") {
		t.Errorf("the name is %s", name)
	}
}
