package uri

import (
	"errors"
	"testing"
)

func TestHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"name", "example.com", "example.com"},
		{"case", "EXAMPLE.Com", "example.com"},
		{"underscore and hyphens", "_a-.-b.ab--c", "_a-.-b.ab--c"},
		{"final dot", "example.com.", "example.com."},
		{"label with a digit in front", "a.3com", "a.3com"},
		{"encoded", "ex%61mpl%45.com", "example.com"},
		{"sub-delimiters", "a!b", "a!b"},

		{"international", "bücher.example", "xn--bcher-kva.example"},
		{"international, encoded", "b%c3%bccher.example", "xn--bcher-kva.example"},
		{"international, upper case", "BÜCHER.example", "xn--bcher-kva.example"},
		{"not transitional", "straße.example", "xn--strae-oqa.example"},
		{"ideographic full stop", "a。example", "a.example"},
		{"with underscore", "_ü.example", "xn--_-eha.example"},
		{"punycode as written", "xn--bcher-kva.example", "xn--bcher-kva.example"},

		{"address", "127.0.0.1", "127.0.0.1"},
		{"address with a final dot", "127.0.0.1.", "127.0.0.1"},
		{"hexadecimal", "0x7f.1", "127.0.0.1"},
		{"hexadecimal, upper case", "0X7F.0.0X0.1", "127.0.0.1"},
		{"octal", "017700000001", "127.0.0.1"},
		{"octal parts", "0177.0.0.01", "127.0.0.1"},
		{"one number", "2130706433", "127.0.0.1"},
		{"two numbers", "127.1", "127.0.0.1"},
		{"three numbers", "127.0.1", "127.0.0.1"},
		{"last number over several bytes", "10.66051", "10.1.2.3"},
		{"all ones", "0xffffffff", "255.255.255.255"},
		{"zero", "0", "0.0.0.0"},
		{"encoded digits", "%31%32%37.1", "127.0.0.1"},
		{"full-width digits", "１２７.１", "127.0.0.1"},
		{"full-width hexadecimal", "０ｘ７ｆ。１", "127.0.0.1"},

		{"IPv6", "[::1]", "::1"},
		{"IPv6, not shortened", "[2001:DB8:0:0:0:0:0:1]", "2001:db8::1"},
		{"IPv6 with IPv4", "[::ffff:127.0.0.1]", "::ffff:127.0.0.1"},
		{"IPv6 zone", "[fe80::1%25eth0]", "fe80::1%eth0"},
		{"IPv6 zone, encoded", "[fe80::1%25a%25B]", "fe80::1%a%B"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := "x://" + c.in + "/"
			u, err := Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			if u.Host() != c.want {
				t.Errorf("%s: got host %q, want %q", s, u.Host(), c.want)
			}
			if u.String() != s {
				t.Errorf("%s: printed as %s", s, u)
			}
			if n := u.Normalize(); n.Host() != c.want {
				t.Errorf("%s: normalised as %s, host %q", s, n, n.Host())
			}
		})
	}
}

func TestHostRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in string }{
		{"space", "a b"},
		{"encoded space", "a%20b"},
		{"encoded slash", "good.example%2F.evil.example"},
		{"encoded at", "a%40b"},
		{"encoded colon", "a%3A80"},
		{"encoded percent", "a%2541"},
		{"encoded NUL", "a%00b"},
		{"encoded LF", "a%0Ab"},
		{"full-width slash", "a／b"},
		{"fraction that maps to a slash", "a℀b"},
		{"full-width percent", "a％41"},
		{"backslash", `a\b`},
		{"incomplete escape", "a%4"},
		{"not UTF-8", "a\xff"},
		{"encoded, not UTF-8", "a%FF"},
		{"bidirectional override", "a\u202eb"},
		{"nothing visible", "\u00ad"},
		{"wrong bidirectional order", "aא.example"},

		{"five numbers", "1.2.3.4.5"},
		{"number too large", "256.1.1.1"},
		{"last number too large", "1.2.3.256"},
		{"one number too large", "4294967296"},
		{"huge number", "99999999999999999999999999"},
		{"not octal", "08"},
		{"no hexadecimal digits", "0x"},
		{"empty part", "1..2"},
		{"two final dots", "127.0.0.1.."},
		{"name that ends in a number", "a.1"},
		{"name that ends in a hexadecimal number", "a.0x1f"},

		{"IPv6 without brackets", "::1"},
		{"IPv6 unclosed", "[::1"},
		{"IPv6 too long", "[1:2:3:4:5:6:7:8:9]"},
		{"IPv6 empty", "[]"},
		{"IPv4 in brackets", "[127.0.0.1]"},
		{"future version", "[v1.x]"},
		{"text after the bracket", "[::1]x"},
		{"zone not encoded", "[fe80::1%eth0]"},
		{"empty zone", "[fe80::1%25]"},
		{"zone with LF", "[fe80::1%25a%0Ab]"},
		{"zone with incomplete escape", "[fe80::1%25a%]"},
		{"zone with a delimiter", "[fe80::1%25a!]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u, err := Parse("x://" + c.in + "/")
			if e := (*Error)(nil); !errors.As(err, &e) {
				t.Errorf("got host %q and error %v, want an *Error", u.Host(), err)
			}
		})
	}
}

// Hosts in base 58 are identifiers whose case counts.
func TestHostsThatDependOnTheCase(t *testing.T) {
	t.Parallel()
	for url, host := range map[string]string{
		"ipfs://QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn/A": "QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn",
		"IPNS://12D3KooW":             "12D3KooW",
		"http://Example.COM/":         "example.com",
		"ipns://B%C3%BCcher.example/": "xn--bcher-kva.example",
	} {
		u := MustParse(url)
		if n := u.Normalize(); u.Host() != host || n.Host() != host {
			t.Errorf("%s: host %q, normalized %q, want %q", url, u.Host(), n.Host(), host)
		}
	}
}
