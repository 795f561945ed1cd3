package uri

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A maker draws the parts of a decoded URL. If wild is set, it also draws values that no URL of the
// scheme can represent.
type maker struct {
	t    *rapid.T
	wild bool
}

var (
	// ordinary lists pieces of text that are special in some URLs or for some parsers.
	ordinary = strings.Split("a b 0 7 Z . .. ~ / // : ; ? # % %2F %00 [ ] { } | \\ ^ \" ' ` & = + * , ! $ ( ) - _ \xff ü ;type=i URL:", " ")
	controls = []string{" ", "\t", "\r", "\n", "\r\n", "\x00", "\x0012", "\x01", "\x1b", "\x7f", "@", "<", ">", "\t1\r\n+-1\r\n", ".\r\n"}
)

// text draws a text without CR, LF, NUL and the characters in without. If m.wild is set, the text may
// contain them.
func (m maker) text(without string) string {
	without += "\r\n\x00"
	if m.wild {
		without = oneOf(m, "", "\r\n\x00", "\r\n\x00", "\r\n\x00")
	}
	var b strings.Builder
	for _, piece := range rapid.SliceOfN(rapid.SampledFrom(slices.Concat(ordinary, controls)), 0, 3).Draw(m.t, "text") {
		if !strings.ContainsAny(piece, without) {
			b.WriteString(piece)
		}
	}
	return b.String()
}

// name draws a text that is not empty and contains no space or control character.
func (m maker) name(without string) string {
	if m.wild {
		return m.text("")
	}
	return "n" + m.text(without+" \t\x01\x1b\x7f")
}

// id draws a message identifier.
func (m maker) id() string {
	if m.wild {
		return m.text("")
	}
	return m.name("@/<>") + "@" + m.name("<>")
}

func (m maker) host() string {
	hosts := []string{"h", "h.example", "192.0.2.1", "2001:db8::1", "fe80::1%eth0", "a_b", "xn--bcher-kva.example"}
	if m.wild && oneOf(m, true, false, false, false) {
		hosts = append(hosts, "", "a b", "h/x", "h:1", "[", "u@h", "h#", "1.2.3.4.5", "h\n")
	}
	return rapid.SampledFrom(hosts).Draw(m.t, "host")
}

func (m maker) port() uint16 { return rapid.Uint16Min(1).Draw(m.t, "port") }

func (m maker) bool() bool { return rapid.Bool().Draw(m.t, "bool") }

func (m maker) login() Userinfo {
	if m.wild {
		return Userinfo{m.text(""), m.text(""), m.bool(), m.bool()}
	}
	var l Userinfo
	if l.HasName = m.bool(); l.HasName {
		l.Name, l.HasPassword = m.text(""), m.bool()
	}
	if l.HasPassword {
		l.Password = m.text("")
	}
	return l
}

// list draws up to three texts.
func (m maker) list(draw func() string) []string {
	var list []string
	for range rapid.IntRange(0, 3).Draw(m.t, "length") {
		list = append(list, draw())
	}
	return list
}

func oneOf[T any](m maker, values ...T) T { return rapid.SampledFrom(values).Draw(m.t, "one") }

// makers maps schemes to functions that draw a decoded URL.
var makers = map[string]func(maker) encoder{
	"ftp": func(m maker) encoder {
		f := FTP{Scheme: oneOf(m, "ftp", "ftps"), Host: m.host(), Port: m.port(), Login: m.login(),
			CWD: m.list(func() string { return m.text("") }), Name: m.text("")}
		if m.wild {
			f.Type, f.Form = rapid.Byte().Draw(m.t, "type"), m.text("")
			return f
		}
		f.Type = oneOf[byte](m, 0, 'a', 'e', 'i', 'd', 'l')
		switch f.Type {
		case 'a', 'e':
			f.Form = oneOf(m, "", "N", "T", "C")
		case 'l':
			f.Form = oneOf(m, "8", "36", "255")
		}
		return f
	},
	"gopher": func(m maker) encoder {
		g := Gopher{Scheme: oneOf(m, "gopher", "gophers"), Host: m.host(), Port: m.port(), Type: oneOf[byte](m, '0', '7', 'h', '%', 0xff),
			Selector: m.text("\t")}
		if m.wild {
			g.Type, g.HasSearch, g.HasPlus = oneOf[byte](m, 0, '0', '1', '7', ' ', '%', 0xff), m.bool(), m.bool()
			g.Search, g.Plus, g.Form = m.text(""), m.text(""), m.list(func() string { return m.text("") })
			return g
		}
		if g.HasSearch = m.bool(); g.HasSearch {
			g.Search, g.HasPlus = m.text("\t"), m.bool()
		}
		if g.HasPlus {
			g.Plus = m.text("")
			g.Form = m.list(func() string { return "n" + m.text("") })
		}
		return g
	},
	"news": func(m maker) encoder {
		n := News{Scheme: oneOf(m, "news", "snews")}
		if m.bool() {
			n.Host, n.Port, n.Login = m.host(), m.port(), m.login()
		}
		switch {
		case m.wild:
			n.Group, n.MessageID = m.text(""), m.text("")
		case m.bool():
			n.Group = m.name("@/")
		default:
			n.MessageID = m.id()
		}
		return n
	},
	"nntp": func(m maker) encoder {
		n := NNTP{Scheme: oneOf(m, "nntp", "nntps"), Group: m.name("@/"), Number: rapid.Uint64().Draw(m.t, "number")}
		if m.bool() {
			n.Host, n.Port, n.Login = m.host(), m.port(), m.login()
		}
		return n
	},
	"telnet": func(m maker) encoder {
		return Parts{Scheme: oneOf(m, "telnet", "telnets", "rlogin", "tn3270"), Host: m.host(), Port: m.port(), Login: m.login(), Path: "/"}
	},
	"wais": func(m maker) encoder {
		w := WAIS{Host: m.host(), Port: m.port(), Database: m.text("")}
		switch {
		case m.wild:
			w.Search, w.HasSearch, w.DocType, w.WPath = m.text(""), m.bool(), m.text(""), m.text("")
		case m.bool():
			w.Search, w.HasSearch = m.text(""), true
		case m.bool():
			w.DocType = m.name("")
			w.WPath = FormatWAISPath([]WAISField{{1, m.text("")}}, rapid.Int64().Draw(m.t, "size"))
		}
		return w
	},
	"file": func(m maker) encoder {
		slash := "/"
		if m.wild {
			slash = oneOf(m, "/", "")
		}
		return File{oneOf(m, "", m.host()), slash + m.text("")}
	},
	"prospero": func(m maker) encoder {
		p := Prospero{Host: m.host(), Port: m.port(), HSOName: m.text("")}
		for _, name := range m.list(func() string { return m.text("") }) {
			p.Fields = append(p.Fields, ProsperoField{name, m.text("")})
		}
		return p
	},
	"mid": func(m maker) encoder {
		if m.bool() {
			return MID{m.id(), ""}
		}
		return MID{m.id(), m.id()}
	},
	"cid": func(m maker) encoder { return CID{m.id()} },
}

// Decoding an encoded value returns the same value.
func TestEncodersAndDecodersAreInverse(t *testing.T) {
	t.Parallel()
	for name, value := range makers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				want := value(maker{t, false})
				u, err := want.URI()
				if err != nil {
					t.Fatalf("%#v: %v", want, err)
				}
				got, err := decodeURL(u)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: got  %#v, %v\nwant %#v", u, got, err, want)
				}
			})
		})
	}
}

// No value is encoded as a URL that means another value: the encoder or the decoder fails, or the
// decoder returns the same value.
func TestEncodersAreUnambiguous(t *testing.T) {
	t.Parallel()
	for name, value := range makers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				for range 20 { // most are refused
					in := value(maker{t, true})
					u, err := in.URI()
					var wrong *Error
					if err != nil {
						if !errors.As(err, &wrong) || !u.IsZero() {
							t.Fatalf("%#v: got %q and error %v, want an *Error", in, u, err)
						}
						continue
					}
					got, err := decodeURL(u)
					if err != nil {
						if !errors.As(err, &wrong) {
							t.Fatalf("%s: %v", u, err)
						}
						continue
					}
					if want := completed(in); !reflect.DeepEqual(got, want) {
						t.Fatalf("%s: got  %#v\nwant %#v", u, got, want)
					}
				}
			})
		})
	}
}

// completed returns v as a decoder returns it: with the fields that follow from others.
func completed(v encoder) encoder {
	login := func(l *Userinfo) {
		l.HasPassword = l.HasPassword || l.Password != ""
		l.HasName = l.HasName || l.Name != "" || l.HasPassword
	}
	bare := func(id *string) {
		if strings.HasPrefix(*id, "<") && strings.HasSuffix(*id, ">") && len(*id) > 1 {
			*id = (*id)[1 : len(*id)-1]
		}
	}
	switch v := v.(type) {
	case FTP:
		login(&v.Login)
		return v
	case Gopher:
		if v.Type == 0 {
			v.Type = '1'
		}
		v.HasPlus = v.HasPlus || v.Plus != "" || v.Form != nil
		v.HasSearch = v.HasSearch || v.Search != "" || v.HasPlus
		return v
	case News:
		login(&v.Login)
		if v.Host == "" {
			v.Login = Userinfo{}
		}
		if bare(&v.MessageID); v.Group == "" && v.MessageID == "" {
			v.Group = "*"
		}
		return v
	case NNTP:
		login(&v.Login)
		if v.Host == "" {
			v.Login = Userinfo{}
		}
		return v
	case Parts:
		login(&v.Login)
		return v
	case WAIS:
		v.HasSearch = v.HasSearch || v.Search != ""
		return v
	case MID:
		bare(&v.MessageID)
		bare(&v.ContentID)
		return v
	case CID:
		bare(&v.ContentID)
		return v
	}
	return v
}

func TestWAISFieldsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := maker{t, true}
		want := []WAISField{{rapid.IntMin(0).Draw(t, "tag"), m.text("")}, {rapid.IntMin(0).Draw(t, "tag"), m.text("")}}
		size := max(rapid.Int64().Draw(t, "size"), -1)
		got, n, ok := WAIS{WPath: FormatWAISPath(want, size)}.RawFields()
		if !ok || n != size || !slices.Equal(got, want) {
			t.Fatalf("got %v, %d, %v, want %v, %d", got, n, ok, want, size)
		}
	})
}
