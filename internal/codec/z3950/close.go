package z3950

import "github.com/urlget/urlget/internal/codec/ber"

// A Close is the message that ends a session.
type Close struct {
	Reason int64
	Text   string
}

var closeReasons = [...]string{
	"finished", "shutdown", "system problem", "cost limit reached", "out of resources",
	"security violation", "protocol error", "lack of activity", "aborted by the peer",
	"unspecified reason",
}

// Values of CloseReason.
const (
	CloseFinished          = 0
	CloseShutdown          = 1
	CloseResources         = 4
	CloseSecurityViolation = 5
	CloseProtocolError     = 6
	CloseLackOfActivity    = 7
)

// String returns the reason and the server's text.
func (m Close) String() string {
	text := "unknown reason"
	if m.Reason >= 0 && m.Reason < int64(len(closeReasons)) {
		text = closeReasons[m.Reason]
	}
	if m.Text != "" {
		text += ": " + m.Text
	}
	return text
}

// Encode returns the encoded message.
func (m Close) Encode() []byte {
	text := []byte(nil)
	if m.Text != "" {
		text = ber.String(tagDiagnosticInformation, m.Text)
	}
	return ber.Field(TagClose, ber.Int(tagCloseReason, m.Reason), text)
}

// ReadClose decodes the current message.
func ReadClose(r *ber.Reader) (m Close) {
	for h := range r.Values() {
		switch h.Tag {
		case tagDiagnosticInformation:
			m.Text = r.String(maxText)
		case tagCloseReason:
			m.Reason = r.Int()
		}
	}
	return m
}
