package sshconfig

import (
	"bufio"
	"os"
	"path/filepath"
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
	LocalCommand "unused command"
`

func TestLookup(t *testing.T) {
	t.Parallel()
	c, err := Parse(strings.NewReader(example), "")
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

func TestByteOrderMarkIsSkipped(t *testing.T) {
	t.Parallel()
	included := filepath.Join(t.TempDir(), "included")
	if err := os.WriteFile(included, []byte("\ufeffHost far\nPort 2222\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Parse(strings.NewReader("\ufeffHost work\nUser joe\nHost *\nInclude "+included+"\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]Host{"work": {User: "joe"}, "far": {Port: 2222}, "other": {}} {
		if got := c.Lookup(host); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", host, got, want)
		}
	}
}

func TestLookupOfKeysAndAlgorithms(t *testing.T) {
	t.Parallel()
	c, err := Parse(strings.NewReader(`
Host old
	KexAlgorithms +diffie-hellman-group1-sha1
	Ciphers ^aes128-cbc
	MACs hmac-sha1
	HostKeyAlgorithms=+ssh-rsa
	PubkeyAcceptedKeyTypes -ssh-rsa
	IdentitiesOnly yes
	IdentityAgent "~/with blank"
	CertificateFile first
Host *
	KexAlgorithms curve25519-sha256
	PubkeyAcceptedAlgorithms ssh-ed25519
	IdentitiesOnly no
	CertificateFile last
`), "")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]Host{
		"old": {KexAlgorithms: "+diffie-hellman-group1-sha1", Ciphers: "^aes128-cbc", MACs: "hmac-sha1", HostKeyAlgorithms: "+ssh-rsa",
			PubkeyAcceptedAlgorithms: "-ssh-rsa", IdentitiesOnly: true, IdentityAgent: "~/with blank", CertificateFiles: []string{"first", "last"}},
		"new": {KexAlgorithms: "curve25519-sha256", PubkeyAcceptedAlgorithms: "ssh-ed25519", CertificateFiles: []string{"last"}},
	} {
		if got := c.Lookup(host); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", host, got, want)
		}
	}
}

// writeHome creates a home directory with files.
func writeHome(t *testing.T, files map[string]string) (home string) {
	t.Helper()
	home = t.TempDir()
	for name, text := range files {
		name = filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func TestInclude(t *testing.T) {
	t.Parallel()
	home := writeHome(t, map[string]string{
		".ssh/conf.d/1": "User first\nHost shell\n Port 1\n",
		".ssh/conf.d/2": "User second\nHost *\n Port 2\n",
		"work":          "Host *.work\n User worker\n Include deeper\n",
		".ssh/deeper":   "Port 3\nHost a.work\n HostName deep\nHost b.home\n HostName never\n",
	})
	for _, tt := range []struct {
		text string
		host string
		want Host
	}{
		{"Include conf.d/*", "shell", Host{User: "first", Port: 1}},
		{"Include conf.d/*", "other", Host{User: "first", Port: 2}},
		{"include=conf.d/2 conf.d/1", "shell", Host{User: "second", Port: 2}},
		{`Include "~/work"`, "a.work", Host{User: "worker", Port: 3, HostName: "deep"}},
		{"Include " + filepath.Join(home, "work"), "b.work", Host{User: "worker", Port: 3}},
		{"Include ~/work", "b.home", Host{}},
		{"Host *.home\n Include deeper\nHost *.work\n Port 4", "a.work", Host{Port: 4}},
		{"Host b.*\n Include deeper\n User last", "b.home", Host{Port: 3, HostName: "never", User: "last"}},
		{"Match all\n Include conf.d/1\nHost shell\n Port 5", "shell", Host{Port: 5}},
		{"Include missing ~/missing/* conf.d\nUser last", "shell", Host{User: "last"}},
	} {
		c, err := Parse(strings.NewReader(tt.text), home)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if got := c.Lookup(tt.host); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q, %s: %+v, want %+v", tt.text, tt.host, got, tt.want)
		}
	}
}

// TestIncludeLimits checks the limits of Include, and that errors name the included file.
func TestIncludeLimits(t *testing.T) {
	t.Parallel()
	home := writeHome(t, map[string]string{
		".ssh/self":  "Include self\n",
		".ssh/twice": "Include twice twice\n",
		".ssh/half":  strings.Repeat("#\n", maxSize/4),
		".ssh/wrong": "\nPort x\n",
		".ssh/empty": "",
	})
	for text, want := range map[string]string{
		"Include self":                                "includes are nested more than 16 deep",
		"Include twice":                               "includes are nested more than 16 deep",
		"Include half half half":                      "bytes",
		"User a\nInclude wrong":                       "line 2: " + filepath.Join(home, ".ssh", "wrong") + ": line 2: \"x\" is not a port",
		strings.Repeat("Include empty\n", maxFiles+1): "more than 1000 included files",
	} {
		if _, err := Parse(strings.NewReader(text), home); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %s", text, err, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Port": "without a value", "Host": "without a value", "User": "without a value", "Include": "without a value",
		"Port x": "is not a port", "Port 0": "is not a port", "Port 65536": "is not a port",
		`User "a`: "unterminated quote", "User a\x00b": "NUL character", "Include /[": filepath.ErrBadPattern.Error(),
		"User " + strings.Repeat("a", maxLine): bufio.ErrTooLong.Error(), strings.Repeat("User a\n", maxSettings+1): "too many settings",
		strings.Repeat("#\n", maxSize/2+1): "more than",
	} {
		if _, err := Parse(strings.NewReader(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example, "www.example.org")
	f.Add("Host a\nInclude conf* \"x\"\nMatch all\nInclude y", "a")
	f.Add("Host=a b\nUser \"x\" y", "a")
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, text, host string) {
		if strings.Contains(text, "/") {
			return // it might include files outside the test
		}
		c, err := Parse(strings.NewReader(text), home)
		if err != nil {
			return
		}
		if got, second := c.Lookup(host), c.Lookup(host); !reflect.DeepEqual(got, second) {
			t.Errorf("%+v, and then %+v", got, second)
		}
	})
}
