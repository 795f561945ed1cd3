package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
)

func TestHostLimitsAreRead(t *testing.T) {
	t.Parallel()
	const text = "# comment\n\n Slow.Example.  1\t5s # comment\n.archive.example 4 0\nx.archive.example - 1m30s\r\nbücher.example 3 -\n[0:0::1] 1 1s\n192.0.2.1 - -"
	l, err := ParseHostLimits("f", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	const want = "slow.example 1 5s\narchive.example 4 0s\nx.archive.example - 1m30s\nxn--bcher-kva.example 3 -\n::1 1 1s\n192.0.2.1 - -\n"
	if got := l.String(); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	again, err := ParseHostLimits("f", strings.NewReader(want))
	if err != nil || again.String() != want {
		t.Errorf("read again: %v, %v", again, err)
	}
	flags := hostLimit{delay: -1}
	for host, want := range map[string]hostLimit{
		"slow.example":        {1, 5 * time.Second},
		"slow.example.":       {1, 5 * time.Second},
		"www.slow.example":    {1, 5 * time.Second},
		"notslow.example":     flags,
		"example":             flags,
		"archive.example":     {4, 0},
		"a.b.archive.example": {4, 0},
		"a.x.archive.example": {0, 90 * time.Second},
		"::1":                 {1, time.Second},
		"192.0.2.1":           flags,
		"":                    flags,
	} {
		if got := l.of(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}

func TestInvalidHostLimitsAreRefused(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range maxLimits + 1 {
		fmt.Fprintf(&many, "h%d 1 -\n", i)
	}
	for text, want := range map[string]string{
		"a 1 0s\n\na.example 1":                  "f:3: 2 columns; use HOST PER-HOST WAIT",
		"a 1 0s more":                            "f:1: 4 columns; use HOST PER-HOST WAIT",
		"a 0 0s":                                 `f:1: PER-HOST is "0"; use 1 to 1000, or -`,
		"a 1001 0s":                              `f:1: PER-HOST is "1001"; use 1 to 1000, or -`,
		"a x 0s":                                 `f:1: PER-HOST is "x"; use 1 to 1000, or -`,
		"a 1 5":                                  `f:1: WAIT is "5"; use a time from 0s to 24h0m0s, such as 1.5s, or -`,
		"a 1 -1s":                                `f:1: WAIT is "-1s"; use a time from 0s to 24h0m0s, such as 1.5s, or -`,
		"a 1 25h":                                `f:1: WAIT is "25h"; use a time from 0s to 24h0m0s, such as 1.5s, or -`,
		"a 1 -\n.A 2 -":                          "f:2: a line before has the same host",
		"http://a/ 1 -":                          `f:1: "http://a/" is not a host`,
		"a:80 1 -":                               `f:1: "a:80" is not a host`,
		"*.a 1 -":                                `f:1: "*.a" is not a host`,
		"a..b 1 -":                               `f:1: "a..b" is not a host`,
		". 1 -":                                  `f:1: "." is not a host`,
		"\x1b[2J 1 -":                            `f:1: "\x1b[2J" is not a host`,
		many.String():                            "f:10001: more than 10000 hosts",
		strings.Repeat("x", 1000) + " 1 -":       `f:1: "` + strings.Repeat("x", 60) + `" is not a host`,
		"#" + strings.Repeat(" ", maxLimitsText): "f: more than 262144 bytes",
		strings.Repeat("#\n", 20_000) + "a 1 99999999h": `f:20001: WAIT is "99999999h"; use a time from 0s to 24h0m0s, such as 1.5s, or -`,
	} {
		_, err := ParseHostLimits("f", strings.NewReader(text))
		if fetch.CodeOf(err) != fetch.ErrRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}
