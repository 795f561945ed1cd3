package cookies

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestUpdateKeepsChangesOfOthers lets two jars that were loaded from one file write it.
func TestUpdateKeepsChangesOfOthers(t *testing.T) {
	t.Parallel()
	const site = "https://a.example/"
	for name, tt := range map[string]struct{ first, second []string }{ // set by each jar
		"each adds one":               {[]string{"one=1; Max-Age=60"}, []string{"two=2; Max-Age=60"}},
		"each changes one":            {[]string{"x=new; Max-Age=60"}, []string{"y=new; Max-Age=60"}},
		"one removes, one adds":       {[]string{"x=; Max-Age=0"}, []string{"two=2; Max-Age=60"}},
		"one adds, one removes":       {[]string{"two=2; Max-Age=60"}, []string{"x=; Max-Age=0"}},
		"both set the same":           {[]string{"x=first; Max-Age=60"}, []string{"x=second; Max-Age=60"}},
		"a cookie of the session":     {[]string{"s=new"}, []string{"two=2; Max-Age=60"}},
		"another session's":           {[]string{"other=1"}, []string{"two=2; Max-Age=60"}},
		"set and removed":             {[]string{"one=1; Max-Age=60", "one=; Max-Age=0"}, []string{"two=2; Max-Age=60"}},
		"removed and set":             {[]string{"x=; Max-Age=0", "x=new; Max-Age=60"}, []string{"two=2; Max-Age=60"}},
		"removed, then set elsewhere": {[]string{"x=; Max-Age=0"}, []string{"x=new; Max-Age=60"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, one := filepath.Join(t.TempDir(), "file"), New()
			begin := "a.example\tFALSE\t/\tTRUE\t4000000000\tx\told\na.example\tFALSE\t/\tTRUE\t4000000000\ty\told\n" +
				"a.example\tFALSE\t/\tTRUE\t0\ts\told\n"
			if err := os.WriteFile(path, []byte(begin), 0o600); err != nil {
				t.Fatal(err)
			}
			var jars [2]*Jar
			for i := range jars {
				jars[i] = New()
				if err := jars[i].Load(path); err != nil {
					t.Fatal(err)
				}
			}
			if err := one.Load(path); err != nil {
				t.Fatal(err)
			}
			for i, list := range [][]string{tt.first, tt.second} {
				for _, field := range list {
					set(t, jars[i], site, field)
					set(t, one, site, field)
				}
				if err := jars[i].Update(path, false); err != nil || jars[i].Changed() {
					t.Fatal(err)
				}
			}
			after := New()
			if err := after.Load(path); err != nil {
				t.Fatal(err)
			}
			want := filepath.Join(t.TempDir(), "want") // as if one process had done it all
			if err := one.Save(want, false); err != nil {
				t.Fatal(err)
			}
			got, _ := os.ReadFile(path)
			if text, err := os.ReadFile(want); err != nil || string(got) != string(text) {
				t.Errorf("%s\nwant\n%s", got, text)
			}
		})
	}
}

func TestConcurrentUpdatesKeepAllCookies(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			j := New()
			set(t, j, "https://a.example/", fmt.Sprintf("c%d=1; Max-Age=60", i))
			if err := j.Update(path, false); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	j := New()
	if err := j.Load(path); err != nil || j.count != 8 {
		t.Errorf("%d cookies, %v", j.count, err)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

func TestUpdateDoesNotReplaceAnotherFormat(t *testing.T) {
	t.Parallel()
	path, j := filepath.Join(t.TempDir(), "file"), New()
	set(t, j, "https://a.example/", "a=1; Max-Age=60")
	if err := os.WriteFile(path, []byte("<html>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := j.Update(path, false)
	if got, _ := os.ReadFile(path); err == nil || string(got) != "<html>\n" || !j.Changed() {
		t.Errorf("%q, %v", got, err)
	}
}
