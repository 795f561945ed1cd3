package hsts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestFields(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		field      string
		ok         bool
		maxAge     time.Duration
		subdomains bool
	}{
		{"max-age=60", true, time.Minute, false},
		{`MAX-AGE="60" ; IncludeSubDomains`, true, time.Minute, true},
		{"includeSubDomains; max-age = 60; preload", true, time.Minute, true},
		{`;; max-age=60;; x="a;b=c"; y=z;`, true, time.Minute, false},
		{"max-age=0", true, 0, false},
		{"max-age=99999999999999999999999", true, maxAge, false},
		{"", false, 0, false},
		{"includeSubDomains", false, 0, false},
		{"max-age", false, 0, false},
		{"max-age=", false, 0, false},
		{"max-age=-1", false, 0, false},
		{"max-age=+1", false, 0, false},
		{"max-age=1.5", false, 0, false},
		{"max-age=60, includeSubDomains", false, 0, false},
		{"max-age=60; max-age=60", false, 0, false},
		{"max-age=60; includeSubDomains; includesubdomains", false, 0, false},
		{"max-age=60; includeSubDomains=1", false, 0, false},
		{`max-age="60"x`, false, 0, false},
		{`max-age="60`, false, 0, false},
		{"max-age=60; =x", false, 0, false},
		{"max-age=60; a b", false, 0, false},
		{"max-age 60", false, 0, false},
	} {
		h, ok := parse(tt.field)
		if want := (host{maxAge: tt.maxAge, subdomains: tt.subdomains}); ok != tt.ok || ok && h != want {
			t.Errorf("%q: %+v, %v", tt.field, h, ok)
		}
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Store
		s.Observe("A.example.", []string{"max-age=60", "max-age=0"})
		s.Observe("b.example", []string{"max-age=60; includeSubDomains"})
		s.Observe("x.b.example", []string{"max-age=60"})
		for _, address := range []string{"127.0.0.1", "127.1", "::1", "fe80::1%eth0", "1.2.3.0x4", ""} {
			s.Observe(address, []string{"max-age=60"})
			if s.Has(address) {
				t.Errorf("%q is known", address)
			}
		}
		s.Observe("c.example", nil)
		s.Observe("c.example", []string{"x", "max-age=60"})
		for name, want := range map[string]bool{
			"a.example": true, "A.EXAMPLE.": true, "sub.a.example": false, "b.example": true, "y.x.b.example": true,
			"bb.example": false, "c.example": false, "example": false,
		} {
			if got := s.Has(name); got != want {
				t.Errorf("%s: %v", name, got)
			}
		}
		time.Sleep(30 * time.Second)
		s.Observe("a.example", []string{"max-age=60"})
		s.Observe("b.example", []string{"max-age=0"})
		if s.Has("y.b.example") || !s.Has("x.b.example") {
			t.Error("max-age=0 does not delete exactly its host")
		}
		time.Sleep(31 * time.Second)
		if !s.Has("a.example") || s.Has("x.b.example") {
			t.Error("the time does not begin at the last response")
		}
	})
}

func TestStoresAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Store
		for i := range 2 * maxHosts {
			s.Observe(fmt.Sprintf("h%d.example", i), []string{"max-age=60"})
			if i%maxHosts == 0 {
				time.Sleep(time.Second)
			}
		}
		if len(s.hosts) > maxHosts || len(s.changed) > maxHosts || !s.Has(fmt.Sprintf("h%d.example", 2*maxHosts-1)) ||
			s.Has("h0.example") {
			t.Errorf("%d hosts, %d changes", len(s.hosts), len(s.changed))
		}
	})
}

func TestFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "hsts")
	var empty Store
	if err := empty.Load(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := empty.Save(path); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty store: %v", err)
	}
	now := time.Now().Unix()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	text := heading + fmt.Sprintf("old.example\t0\t0\t%d\t60\nwget.example\t8443\t1\t%d\t600\ngone.example 0 0 %d 600\n"+
		"future.example\t0\t0\t%d\t600\nbad\nworse.example\t0\t0\tx\t600\n127.0.0.1\t0\t0\t%d\t600\n",
		now-61, now-1, now-1, now+3600, now-1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var s Store
	if err := s.Load(path); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"old.example": false, "sub.wget.example": true, "gone.example": true,
		"future.example": false, "bad": false, "worse.example": false} {
		if got := s.Has(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	s.Observe("gone.example", []string{"max-age=0"})
	s.Observe("new.example", []string{"max-age=31536000"})
	if err := s.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	created := s.hosts["new.example"].created.Unix()
	want := heading + fmt.Sprintf("new.example\t0\t0\t%d\t31536000\nwget.example\t0\t1\t%d\t600\n", created, now-1)
	if string(got) != want {
		t.Errorf("saved:\n%swant:\n%s", got, want)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestByteOrderMarkIsSkipped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hsts")
	text := fmt.Sprintf("\ufeffh.example\t0\t0\t%d\t600\n", time.Now().Unix()-1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var s Store
	if err := s.Load(path); err != nil || !s.Has("h.example") {
		t.Errorf("%v, %v", s.hosts, err)
	}
}

func TestOtherFilesAreNotReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page")
	for text, want := range map[string]string{
		".example.com \"20301231 10:00:00\"\n": errFormat.Error(), "<html>\n": errFormat.Error(), strings.Repeat("x", 2*maxLine): "token too long",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var s Store
		s.Observe("h.example", []string{"max-age=600"})
		for what, err := range map[string]error{"load": s.Load(path), "save": s.Save(path)} {
			if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s of %.20q: %v", what, text, err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%.20q became %.20q, %v", text, got, err)
		}
	}
}

func TestConcurrentSavesKeepAllHosts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hsts")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			var s Store
			s.Observe(fmt.Sprintf("h%d.example", i), []string{"max-age=600"})
			if err := s.Save(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), ".example\t") != 8 {
		t.Errorf("saved:\n%s, %v", text, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || left != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
