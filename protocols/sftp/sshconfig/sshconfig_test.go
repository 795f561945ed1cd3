package sshconfig

import (
	"reflect"
	"strings"
	"testing"
)

const example = `
# the first value holds
Host shell !shell.example.org *.example.org
	User=alice
	Port 2222
	IdentityFile ~/.ssh/first
	identityfile "~/.ssh/with a blank" # comment

Match host other
	User nobody
Host jump?
	hostname %h.example.net
	ProxyJump bob@one:22,two
Host lonely
	ProxyJump none
Host *
	User bob
	Port = 22
	IdentityFile ~/.ssh/last
	ProxyJump last
	ForwardAgent yes
	LocalCommand "not closed for whom it matters"
`

func TestLookup(t *testing.T) {
	t.Parallel()
	c, err := Parse(strings.NewReader(example))
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"~/.ssh/last"}
	named := []string{"~/.ssh/first", "~/.ssh/with a blank", "~/.ssh/last"}
	last := []string{"last"}
	for host, want := range map[string]Host{
		"shell":             {User: "alice", Port: 2222, IdentityFiles: named, ProxyJump: last},
		"www.EXAMPLE.org":   {User: "alice", Port: 2222, IdentityFiles: named, ProxyJump: last},
		"shell.example.org": {User: "bob", Port: 22, IdentityFiles: all, ProxyJump: last},
		"jump1":             {HostName: "jump1.example.net", User: "bob", Port: 22, IdentityFiles: all, ProxyJump: []string{"bob@one:22", "two"}},
		"jump12":            {User: "bob", Port: 22, IdentityFiles: all, ProxyJump: last},
		"lonely":            {User: "bob", Port: 22, IdentityFiles: all},
		"other":             {User: "bob", Port: 22, IdentityFiles: all, ProxyJump: last},
	} {
		if got := c.Lookup(host); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", host, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Port", "Port x", "Port 0", "Port 65536", "Host", "User", `User "a`, "User a\x00b",
		"User " + strings.Repeat("a", maxLine), strings.Repeat("User a\n", maxSettings+1)} {
		if _, err := Parse(strings.NewReader(text)); err == nil {
			t.Errorf("%.30q was taken", text)
		}
	}
}

func TestPatternsTakeNoLongerThanTheyMay(t *testing.T) {
	t.Parallel()
	if matches(strings.Repeat("*a", 1000)+"b", strings.Repeat("a", 10_000)) {
		t.Error("matches")
	}
	for pattern, hosts := range map[string]string{"*": " a ab", "a*": "a ab", "*b": "b ab", "a*b": "ab aab acb", "?": "a b", "??*": "ab abc", "": ""} {
		for host := range strings.SplitSeq(hosts, " ") {
			if !matches(pattern, host) {
				t.Errorf("%q does not match %q", pattern, host)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example, "www.example.org")
	f.Add("Host=a b\nUser \"x\" y", "a")
	f.Fuzz(func(t *testing.T, text, host string) {
		c, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		if got, again := c.Lookup(host), c.Lookup(host); !reflect.DeepEqual(got, again) {
			t.Errorf("%+v, and then %+v", got, again)
		}
	})
}
