package mailto

import (
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// A proposal is a decoded mailto URL (RFC 1738, section 3.5; RFC 6068).
type proposal struct {
	to     []string // addresses, including those of "to" fields
	header []field
	body   []string // lines; nil if there is none
}

type field struct{ name, value string }

// parse decodes a mailto URL. CR, LF and NUL are refused, except for line endings in the body.
func parse(u uri.URI) (*proposal, error) {
	p := &proposal{}
	if err := p.decode(u); err != nil {
		return nil, &uri.Error{Input: u.Redacted(), Reason: err.Error(), Offset: -1, Err: err}
	}
	return p, nil
}

func (p *proposal) decode(u uri.URI) error {
	switch {
	case u.Scheme() != "mailto":
		return errors.New("not a URL of scheme mailto")
	case u.HasAuthority():
		return errors.New("// in a URL without a server")
	}
	if err := p.address(u.Path()); err != nil {
		return err
	}
	query, _ := u.Query()
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return errors.New("mailto field without =")
		}
		if err := p.field(name, value); err != nil {
			return err
		}
	}
	if p.to == nil && p.header == nil && p.body == nil {
		return errors.New("no mail address")
	}
	return nil
}

func (p *proposal) address(list string) error {
	for encoded := range strings.SplitSeq(list, ",") {
		if encoded == "" {
			continue
		}
		address, err := unescape(encoded)
		if err != nil {
			return err
		}
		p.to = append(p.to, address)
	}
	return nil
}

func (p *proposal) field(encoded, value string) error {
	name, err := unescape(encoded)
	switch {
	case err != nil:
		return err
	case name == "":
		return errors.New("mailto field without a name")
	case strings.Contains(name, " "):
		return errors.New("space in the name of a mailto field")
	}
	switch strings.ToLower(name) {
	case "to":
		return p.address(value)
	case "body":
		for line := range strings.SplitSeq(uri.UnescapeRaw(value), "\n") {
			line = strings.TrimSuffix(line, "\r")
			if strings.ContainsAny(line, "\r\x00") {
				return uri.ErrControl
			}
			p.body = append(p.body, line)
		}
		return nil
	}
	if value, err = unescape(value); err != nil {
		return err
	}
	p.header = append(p.header, field{name, value})
	return nil
}

// unescape decodes a part of the URL. It refuses control characters.
func unescape(part string) (string, error) {
	s := uri.UnescapeRaw(part)
	if strings.ContainsAny(s, "\r\n\x00") {
		return "", uri.ErrControl
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return "", errors.New("control character in mail")
		}
	}
	return s, nil
}
