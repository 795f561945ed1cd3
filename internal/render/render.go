// Package render formats listings and metadata as aligned text, and with the events of transfers as
// JSON Lines.
package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch"
)

// WriteJSON writes v to w as one line of JSON, in one call of Write. It escapes strings like an
// EventWriter, including those in a [json.RawMessage].
func WriteJSON(w io.Writer, v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// encode returns v as JSON on one line. Characters that control a terminal or mislead the reader are
// escaped, as in fetch.Printable: U+009B starts a control sequence, and U+202E reverses the text
// direction.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if utf8.Valid(text) && !bytes.ContainsFunc(text, deceptive) {
		return text, nil
	}
	var safe []byte
	for _, r := range string(text) { // invalid UTF-8, which a RawMessage may hold, becomes U+FFFD
		switch {
		case !deceptive(r):
			safe = utf8.AppendRune(safe, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			safe = fmt.Appendf(safe, "\\u%04x\\u%04x", high, low)
		default:
			safe = fmt.Appendf(safe, "\\u%04x", r)
		}
	}
	return safe, nil
}

func deceptive(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

func sizePtr(size int64) *int64 {
	if size < 0 {
		return nil
	}
	return &size
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func replyText(r fetch.Reply) string {
	if r.IsZero() {
		return ""
	}
	return r.String()
}
