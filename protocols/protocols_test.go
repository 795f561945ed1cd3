package protocols_test

import (
	"os"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols"
)

func TestTheREADMENamesEveryScheme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "<!-- schemes -->")
	section, _, ok := strings.Cut(rest, "<!-- end of schemes -->")
	if !ok {
		t.Fatal("README.md has no section of schemes")
	}
	c := fetch.New(nil, protocols.All)
	defer c.Close()
	for _, s := range c.Schemes() {
		want := "| " + s.Name + " |"
		if s.State() == "names only" {
			want = " " + s.Name
		}
		if !strings.Contains(section, want) {
			t.Errorf("README.md does not list %s (%s)", s.Name, s.State())
		}
		if s.State() != "names only" && !strings.Contains(section, s.Summary) {
			t.Errorf("README.md does not say that %s is %s", s.Name, s.Summary)
		}
	}
}

func TestDriversOfTwoClientsAreNotShared(t *testing.T) {
	t.Parallel()
	load := protocols.With(protocols.Config{})
	a, b := fetch.New(nil, load), fetch.New(nil, load)
	defer a.Close()
	defer b.Close()
	if len(a.Schemes()) != len(b.Schemes()) || len(a.Schemes()) < 20 {
		t.Errorf("%d and %d schemes", len(a.Schemes()), len(b.Schemes()))
	}
}
