package z3950

import (
	"slices"

	"github.com/urlget/urlget/internal/codec/ber"
)

// Bits of Options.
const (
	OptionSearch  = 0
	OptionPresent = 1
	OptionScan    = 7
)

// An Init is an InitializeRequest or InitializeResponse.
type Init struct {
	Version               int     // 2 or 3
	Options               []int   // the requested or supported options, for encoding
	OptionBits            uint64  // the decoded options: bit n is option n
	PreferredMessageSize  int64   // preferredMessageSize in bytes, the limit for several records
	ExceptionalRecordSize int64   // exceptionalRecordSize in bytes, the limit for a single record
	ID                    string  // of the implementation
	Name                  string  //
	Release               string  //
	Login                 *IDPass // request only; nil for none
	Accepted              bool    // response only
	// Reasons are the diagnostics of a response that rejects the session.
	Reasons []Diagnostic
}

// IDPass holds login credentials with a password.
type IDPass struct{ Group, User, Password string }

func (m Init) leadingFields() []byte {
	versions := []int{0, 1}
	if m.Version >= 3 {
		versions = append(versions, 2)
	}
	return slices.Concat(ber.Bits(tagProtocolVersion, versions...), ber.Bits(tagOptions, m.Options...),
		ber.Int(tagPreferredMessageSize, m.PreferredMessageSize),
		ber.Int(tagExceptionalRecordSize, m.ExceptionalRecordSize))
}

func (m Init) implementation() []byte {
	return slices.Concat(ber.String(tagImplementationID, m.ID), ber.String(tagImplementationName, m.Name),
		ber.String(tagImplementationVersion, m.Release))
}

// Encode returns m as an encoded request. If masked is set, the password is replaced by asterisks.
func (m Init) Encode(masked bool) []byte {
	var login []byte
	if m.Login != nil {
		password := m.Login.Password
		if masked {
			password = "****"
		}
		var group []byte
		if m.Login.Group != "" {
			group = ber.String(tagGroupID, m.Login.Group)
		}
		login = ber.Field(tagIDAuthentication, ber.Sequence(group,
			ber.String(tagUserID, m.Login.User), ber.String(tagPassword, password)))
	}
	return ber.Field(TagInit, m.leadingFields(), login, m.implementation())
}

// EncodeResponse returns m as an encoded response.
func (m Init) EncodeResponse() []byte {
	return ber.Field(TagInitResponse, m.leadingFields(), ber.Bool(tagResult, m.Accepted), m.implementation())
}

// ReadInit decodes the current message, a request or a response.
func ReadInit(r *ber.Reader) (m Init) {
	m.Version = 2
	for h := range r.Values() {
		switch h.Tag {
		case tagProtocolVersion:
			if r.Bits()&(1<<2) != 0 {
				m.Version = 3
			}
		case tagOptions:
			m.OptionBits = r.Bits()
		case tagPreferredMessageSize:
			m.PreferredMessageSize = r.Int()
		case tagExceptionalRecordSize:
			m.ExceptionalRecordSize = r.Int()
		case tagIDAuthentication:
			m.Login = readLogin(r)
		case tagUserInformationField:
			m.Reasons = append(m.Reasons, readReasons(r)...)
		case tagResult:
			m.Accepted = r.Bool()
		case tagImplementationID:
			m.ID = r.String(maxText)
		case tagImplementationName:
			m.Name = r.String(maxText)
		case tagImplementationVersion:
			m.Release = r.String(maxText)
		}
	}
	return m
}

func readLogin(r *ber.Reader) *IDPass {
	var p IDPass
	for h := range r.Values() {
		if !h.IsUniversal(ber.TagSequence) {
			continue
		}
		for h := range r.Values() {
			switch h.Tag {
			case tagGroupID:
				p.Group = r.String(maxText)
			case tagUserID:
				p.User = r.String(maxText)
			case tagPassword:
				p.Password = r.String(maxText)
			}
		}
	}
	return &p
}

// Servers wrap the diagnostics in various structures, so readReasons searches all nested values.
func readReasons(r *ber.Reader) (reasons []Diagnostic) {
	var d Diagnostic
	for h := range r.Values() {
		switch {
		case h.IsUniversal(ber.TagInteger) && d.Set != "":
			d.Code = r.Int()
		case h.IsUniversal(ber.TagOID):
			if oid := r.OID(); oid == DiagBib1 {
				d.Set = oid
			}
		case h.IsUniversal(ber.TagVisible), h.IsUniversal(ber.TagGeneralString):
			d.AddInfo = r.String(maxText)
		case h.Constructed && len(reasons) < maxList:
			reasons = append(reasons, readReasons(r)...)
		}
	}
	if d.Code != 0 || d.AddInfo != "" {
		reasons = append(reasons, d)
	}
	return reasons
}
