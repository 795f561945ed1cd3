package mailto

import (
	"bytes"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// draftFields lists the header fields that a URL may set. RFC 6068, section 4, leaves the others to
// the sender, because they could be used to forge or redirect a message.
var draftFields = []string{"Cc", "Bcc", "Subject", "Keywords", "Comments", "In-Reply-To", "References"}

// Draft returns the message that a mailto URL proposes, as an Internet message (RFC 5322). It has
// no From field, which the sender adds. Fields that a URL should not set are omitted. Lines end
// with CRLF.
func Draft(u uri.URI) ([]byte, error) {
	m, err := parse(u)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	field := func(name, value string) { b.WriteString(name + ": " + value + "\r\n") }
	field("Date", now().Format("Mon, 02 Jan 2006 15:04:05 -0700"))
	if len(m.to) > 0 {
		field("To", addressList(m.to))
	}
	for _, f := range m.header {
		switch name := textproto.CanonicalMIMEHeaderKey(f.name); {
		case !slices.Contains(draftFields, name):
		case name == "Cc" || name == "Bcc":
			field(name, addressList(strings.Split(f.value, ",")))
		default:
			field(name, fold(name, f.value))
		}
	}
	field("MIME-Version", "1.0")
	field("Content-Type", "text/plain; charset=utf-8")
	body := strings.Join(m.body, "\r\n")
	if m.body != nil {
		body += "\r\n"
	}
	if isPlain(body) {
		b.WriteString("\r\n" + body)
		return b.Bytes(), nil
	}
	field("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	w.Write([]byte(body)) // never fails on a bytes.Buffer
	w.Close()
	return b.Bytes(), nil
}

var now = time.Now // tests replace it

// addressList formats addresses one per line, so that lines stay short.
func addressList(addresses []string) string {
	formatted := make([]string, 0, len(addresses))
	for _, a := range addresses {
		a = strings.TrimSpace(a)
		if parsed, err := mail.ParseAddress(a); err == nil {
			a = strings.TrimSuffix(strings.TrimPrefix(parsed.String(), "<"), ">")
			if parsed.Name != "" {
				a = parsed.String()
			}
		}
		formatted = append(formatted, a)
	}
	return strings.Join(formatted, ",\r\n ")
}

// fold encodes text (RFC 2047) and folds it at spaces into lines of about 78 bytes.
func fold(name, value string) string {
	var b strings.Builder
	width := len(name) + 2
	for i, word := range strings.Split(mime.QEncoding.Encode("utf-8", value), " ") {
		switch {
		case i == 0:
		case width+1+len(word) > 78 && word != "":
			b.WriteString("\r\n ")
			width = 1
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String()
}

// isPlain reports whether text can be sent unencoded: ASCII in lines of at most 998 bytes (RFC
// 5322, section 2.1.1).
func isPlain(text string) bool {
	for line := range strings.SplitSeq(text, "\r\n") {
		if len(line) > 998 {
			return false
		}
		for i := range len(line) {
			if line[i] >= 0x7f || line[i] < ' ' && line[i] != '\t' {
				return false
			}
		}
	}
	return true
}
