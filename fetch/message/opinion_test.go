package message

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"mime/quotedprintable"
	"slices"
	"strings"
	"testing"

	other "github.com/emersion/go-message"
)

// An opinion is what one parser reads in a part.
type opinion struct{ mediaType, name, body string }

// ours returns the parts of a message as package message reads them.
func ours(raw string) ([]opinion, error) {
	var found []opinion
	for p, err := range Parts(strings.NewReader(raw)) {
		if err != nil {
			return found, err
		}
		body, err := io.ReadAll(p.Body())
		if err != nil {
			return found, err
		}
		found = append(found, opinion{p.ContentType, p.Name, string(body)})
	}
	return found, nil
}

// theirs returns the parts of a message as github.com/emersion/go-message reads them.
func theirs(raw string) ([]opinion, error) {
	e, err := other.Read(strings.NewReader(raw))
	if err != nil && !other.IsUnknownCharset(err) {
		return nil, err
	}
	var found []opinion
	err = e.Walk(func(_ []int, p *other.Entity, err error) error {
		if err != nil && !other.IsUnknownCharset(err) {
			return err
		}
		mediaType, params, err := p.Header.ContentType()
		if err != nil {
			return err
		}
		if strings.HasPrefix(mediaType, "multipart/") {
			return nil
		}
		_, disposition, err := p.Header.ContentDisposition()
		if err != nil && p.Header.Get("Content-Disposition") != "" {
			return err
		}
		name := disposition["filename"]
		if name == "" {
			name = params["name"]
		}
		body, err := io.ReadAll(p.Body)
		found = append(found, opinion{mediaType, name, string(body)})
		return err
	})
	return found, err
}

// A composer writes random valid messages. Texts are in UTF-8: the other parser converts the charset of a
// body, package message does so only in Text.
type composer struct {
	*rand.Rand
	out bytes.Buffer
}

var opinionNames = []string{
	"", "a.txt", "two words.pdf", "semi;colon.txt", "quote\"s.txt", "back\\slash.txt", "Grüße.txt", "日本語 の.txt",
	"a=b,c.txt", "100%.txt", "it's.txt", "(comment).txt",
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// entity writes a part with its header; a multipart has up to four parts.
func (c *composer) entity(depth int) {
	if depth < 4 && c.IntN(depth+1) == 0 {
		c.multipart(depth)
		return
	}
	if depth > 0 && c.IntN(8) == 0 { // without a header
		c.out.WriteString("\r\n" + pick(c.Rand, "", "\r\n\r\ntext", "a: b\r\n", " blank"))
		return
	}
	mediaType := pick(c.Rand, "text/plain", "TEXT/HTML", "image/png", "Application/Octet-Stream", "text/csv")
	params, name := map[string]string{}, pick(c.Rand, opinionNames...)
	if strings.HasPrefix(strings.ToLower(mediaType), "text/") {
		params["charset"] = pick(c.Rand, "utf-8", "UTF-8")
	}
	disposition := map[string]string{}
	switch where := c.IntN(3); {
	case name != "" && where == 0:
		params["name"] = name
	case name != "" && where == 1:
		disposition["filename"] = name
	case name != "":
		params["name"], disposition["filename"] = "other.txt", name
	}
	c.field("Content-Type", mime.FormatMediaType(mediaType, params))
	if len(disposition) > 0 {
		c.field("Content-Disposition", mime.FormatMediaType(pick(c.Rand, "attachment", "inline"), disposition))
	}
	body := strings.Repeat(pick(c.Rand, "", "plain\r\n", "=3D\r\n", "Grüße und =20 \t\r\nzwei", "--not-a-boundary\r\n", "a: b\r\n\r\n", "From x\r\n", ".\r\n"),
		c.IntN(40))
	switch pick(c.Rand, "", "8bit", "base64", "quoted-printable") {
	case "":
		c.out.WriteString("\r\n" + body)
	case "8bit":
		c.out.WriteString("Content-Transfer-Encoding: 8BIT\r\n\r\n" + body)
	case "base64":
		c.out.WriteString("Content-Transfer-Encoding: Base64\r\n\r\n")
		for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString([]byte(body))), 76) {
			fmt.Fprintf(&c.out, "%s\r\n", line)
		}
	case "quoted-printable":
		c.out.WriteString("Content-Transfer-Encoding: quoted-printable\r\n\r\n")
		w := quotedprintable.NewWriter(&c.out)
		io.WriteString(w, body)
		w.Close()
	}
}

func (c *composer) multipart(depth int) {
	boundary := pick(c.Rand, "x", "a b", "=_next'()+_,-./:=?", strings.Repeat("b", 68)) + fmt.Sprint(depth)
	c.field("Content-Type", mime.FormatMediaType("multipart/"+pick(c.Rand, "mixed", "alternative", "related"), map[string]string{"boundary": boundary}))
	c.out.WriteString("\r\n" + pick(c.Rand, "", "preamble\r\n"))
	for range 1 + c.IntN(4) {
		fmt.Fprintf(&c.out, "\r\n--%s\r\n", boundary)
		c.entity(depth + 1)
	}
	fmt.Fprintf(&c.out, "\r\n--%s--\r\n%s", boundary, pick(c.Rand, "", "epilogue\r\n"))
}

// field writes a field, sometimes folded.
func (c *composer) field(name, value string) {
	if c.IntN(2) == 0 {
		value = strings.ReplaceAll(value, "; ", ";\r\n\t")
	}
	fmt.Fprintf(&c.out, "%s: %s\r\n", pick(c.Rand, name, strings.ToLower(name)), value)
}

// TestSecondOpinion compares the parts of generated messages with those of another parser.
func TestSecondOpinion(t *testing.T) {
	t.Parallel()
	failed, parts, named := 0, 0, 0
	for seed := range uint64(1000) {
		c := &composer{Rand: rand.New(rand.NewPCG(seed, 1))}
		c.out.WriteString("From: a@b.example\r\nSubject: x\r\nMIME-Version: 1.0\r\n")
		c.entity(0)
		raw := c.out.String()
		want, err := theirs(raw)
		if err != nil {
			t.Fatalf("seed %d: the other parser: %v\n%s", seed, err, raw)
		}
		for _, p := range want {
			if parts++; p.name != "" {
				named++
			}
		}
		got, err := ours(raw)
		if err != nil || !slices.Equal(got, want) {
			if failed++; failed < 5 {
				t.Errorf("seed %d:\ngot  %q, %v\nwant %q\n%s", seed, got, err, want, raw)
			}
		}
	}
	if failed > 0 {
		t.Errorf("%d messages differ", failed)
	}
	if parts < 1500 || named < parts/4 {
		t.Errorf("the messages have only %d parts, %d with a name", parts, named)
	}
}

// differences are the wild messages that the other parser reads in another way, with the reason.
var differences = map[string]string{
	"part without a blank line":                      "it refuses a line without a colon",
	"part without a blank line after a folded field": "it refuses a line without a colon",
	"inner multipart without a blank line":           "it refuses a line without a colon",
	"line without a colon":                           "it refuses a line without a colon",
	"part without a header":                          "it refuses a line without a colon",
	"part without an empty line":                     "it refuses a line without a colon",
	"random bytes":                                   "it refuses a line without a colon",
	"mbox From_ line":                                "it refuses a field name with a space",
	"quoted From_ line":                              "it refuses a field name with a space",
	"8-bit field name":                               "it refuses a field name that is not ASCII",
	"leading space":                                  "it refuses a continuation line without a field; here it begins the body",
	"only line ends":                                 "it takes them for the body; here empty lines before a message are skipped",
	"endless header":                                 "it does not limit the header; here the rest is body",
	"content type of one word":                       "it keeps the word; here the part is text/plain (RFC 2045, section 5.2)",
	"double semicolon":                               "it fails; here an empty parameter is skipped",
	"parameter twice":                                "it fails; here the first one counts",
	"unquoted file name":                             "it fails; here the name ends at the semicolon",
	"no closing boundary":                            "it fails at the end",
	"inner multipart not closed":                     "it fails at the end",
	"10,000 parts":                                   "it fails at the end",
	"no boundary at all":                             "it fails; here there are no parts",
	"no boundary parameter":                          "it fails; here the body is one part",
	"preamble of one long line":                      "it fails at a line longer than its buffer",
	"footer after base64":                            "it fails; here lines that are not encoded are skipped",
	"base64 in pieces":                               "it fails; here pieces with padding may follow each other",
	"base64 that is none":                            "it fails; here lines that are not encoded are skipped",
	"base64 without padding":                         "it fails at the end",
	"base64 with a comment":                          "it does not know comments in this field",
	"broken quoted-printable":                        "it fails; here broken sequences are kept",
	"unknown encoding":                               "it fails; here the content is returned as it is",
	"uuencode":                                       "it does not know the encoding",
	"uuencode cut off":                               "it does not know the encoding",
	"yEnc":                                           "it does not know the encoding",
	"3,000 levels":                                   "it does not limit the depth",
}

// TestSecondOpinionOfWildMessages compares the parts of messages as they are in mailboxes. Where the other
// parser differs, the reason is known, and the tests of wild messages have the right value.
func TestSecondOpinionOfWildMessages(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, w := range wildMessages {
		if why := differences[w.name]; why != "" {
			used[w.name] = true
			if strings.HasPrefix(why, "it does not limit the depth") {
				continue // takes seconds
			}
			if want, err := theirs(w.message); err == nil {
				if got, err := ours(w.message); err == nil && slices.Equal(got, want) {
					t.Errorf("%s: both agree now, although %s", w.name, why)
				}
			}
			continue
		}
		want, err := theirs(w.message)
		if err != nil {
			t.Errorf("%s: the other parser: %v", w.name, err)
			continue
		}
		got, err := ours(w.message)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %.200q, %v, want %.200q", w.name, got, err, want)
		}
	}
	for name := range differences {
		if !used[name] {
			t.Errorf("no message is named %q", name)
		}
	}
}
