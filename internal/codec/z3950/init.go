package z3950

import "github.com/urlget/urlget/internal/codec/ber"

// Bits of Options.
const (
	OptionSearch  = 0
	OptionPresent = 1
	OptionScan    = 7
)

// An Init is an InitializeRequest or InitializeResponse.
type Init struct {
	Version               int      // 2 or 3
	Options               []int    // the requested or supported options, for encoding
	OptionBits            uint64   // the decoded options: bit n is option n
	PreferredMessageSize  int64    // preferredMessageSize in bytes, the limit for several records
	ExceptionalRecordSize int64    // exceptionalRecordSize in bytes, the limit for a single record
	ID                    string   // of the implementation
	Name                  string   //
	Release               string   //
	Login                 *IDPass  // request only; nil for none
	Accepted              bool     // response only
	Reason                []string // response only: the server's reasons for a rejection
}

// IDPass holds login credentials with a password.
type IDPass struct{ Group, User, Password string }

// leadingFields encodes the leading fields of both messages.
func (m Init) leadingFields() []byte {
	versions := []int{0, 1}
	if m.Version >= 3 {
		versions = append(versions, 2)
	}
	return append(append(append(ber.Bits(3, versions...), ber.Bits(4, m.Options...)...), ber.Int(5, m.PreferredMessageSize)...), ber.Int(6, m.ExceptionalRecordSize)...)
}

// implementation encodes the fields that describe the implementation.
func (m Init) implementation() []byte {
	return append(append(ber.String(110, m.ID), ber.String(111, m.Name)...), ber.String(112, m.Release)...)
}

// Encode returns m as an encoded request. If masked is set, the password is replaced by asterisks.
func (m Init) Encode(masked bool) []byte {
	var login []byte
	if m.Login != nil {
		password := m.Login.Password
		if masked {
			password = "****"
		}
		login = ber.Field(7, ber.Sequence(ber.String(0, m.Login.Group), ber.String(1, m.Login.User), ber.String(2, password)))
		if m.Login.Group == "" {
			login = ber.Field(7, ber.Sequence(ber.String(1, m.Login.User), ber.String(2, password)))
		}
	}
	return ber.Field(TagInit, m.leadingFields(), login, m.implementation())
}

// EncodeResponse returns m as an encoded response.
func (m Init) EncodeResponse() []byte {
	return ber.Field(TagInitResponse, m.leadingFields(), ber.Bool(12, m.Accepted), m.implementation())
}

// ReadInit decodes the current message, a request or a response.
func ReadInit(r *ber.Reader) (m Init) {
	m.Version = 2
	r.Enter()
	for r.Next() {
		switch r.Header().Tag {
		case 3:
			if r.Bits()&(1<<2) != 0 {
				m.Version = 3
			}
		case 4:
			m.OptionBits = r.Bits()
		case 5:
			m.PreferredMessageSize = r.Int()
		case 6:
			m.ExceptionalRecordSize = r.Int()
		case 7:
			m.Login = readLogin(r)
		case 11:
			m.Reason = append(m.Reason, readReason(r)...)
		case 12:
			m.Accepted = r.Bool()
		case 110:
			m.ID = r.String(maxText)
		case 111:
			m.Name = r.String(maxText)
		case 112:
			m.Release = r.String(maxText)
		}
	}
	r.Leave()
	return m
}

func readLogin(r *ber.Reader) *IDPass {
	var p IDPass
	r.Enter()
	for r.Next() {
		if !r.Header().IsUniversal(ber.TagSequence) {
			continue
		}
		r.Enter()
		for r.Next() {
			switch r.Header().Tag {
			case 0:
				p.Group = r.String(maxText)
			case 1:
				p.User = r.String(maxText)
			case 2:
				p.Password = r.String(maxText)
			}
		}
		r.Leave()
	}
	r.Leave()
	return &p
}

// readReason collects the diagnostics of a userInformationField. Servers wrap them in various
// structures, so it searches all nested values.
func readReason(r *ber.Reader) (reasons []string) {
	r.Enter()
	var d Diagnostic
	for r.Next() {
		switch h := r.Header(); {
		case h.IsUniversal(ber.TagInteger) && d.Set != "":
			d.Code = r.Int()
		case h.IsUniversal(ber.TagOID):
			if oid := r.OID(); oid == DiagBib1 {
				d.Set = oid
			}
		case h.IsUniversal(ber.TagVisible), h.IsUniversal(ber.TagGeneralString):
			d.AddInfo = r.String(maxText)
		case h.Constructed && len(reasons) < maxList:
			reasons = append(reasons, readReason(r)...)
		}
	}
	r.Leave()
	if d.Code != 0 || d.AddInfo != "" {
		reasons = append(reasons, d.String())
	}
	return reasons
}
