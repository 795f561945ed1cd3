package robots_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/urlget/urlget/crawl/robots"
)

func TestAllowed(t *testing.T) {
	t.Parallel()
	long := "User-agent: *\n" + strings.Repeat("# filler\n", robots.MaxSize/9) + "Disallow: /\n"
	tests := []struct {
		name, file, path string
		want             bool
	}{
		{"nothing", "", "/x", true},
		{"everything", "User-agent: *\nDisallow: /", "/x", false},
		{"robots.txt itself", "User-agent: *\nDisallow: /", "/robots.txt", true},
		{"an empty rule", "User-agent: *\nDisallow:", "/x", true},
		{"the longest match", "User-agent: *\nAllow: /a/b\nDisallow: /a", "/a/b/c", true},
		{"the longest match in the other order", "User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/c", false},
		{"a tie", "User-agent: *\nDisallow: /page\nAllow: /page", "/page", true},
		{"a tie in the other order", "User-agent: *\nAllow: /page\nDisallow: /page", "/page", true},
		{"the group for the agent overrides *", "User-agent: *\nDisallow: /\nUser-agent: urlget\nDisallow: /private", "/x", true},
		{"a later group for the agent", "User-agent: other\nDisallow: /\n\nUser-agent: URLget/1.0\nDisallow: /x", "/x", false},
		{"a longer product token", "User-agent: urlgetter\nDisallow: /", "/x", true},
		{"groups are merged", "User-agent: urlget\nDisallow: /a\n\nUser-agent: b\nDisallow: /\n\nUser-agent: urlget\nDisallow: /c", "/c", false},
		{"the first of the merged groups", "User-agent: urlget\nDisallow: /a\nUser-agent: urlget\nDisallow: /c", "/a", false},
		{"a group for several agents", "User-agent: a\nUser-agent: urlget\nUser-agent: b\nDisallow: /x", "/x", false},
		{"a Sitemap line does not end a group", "User-agent: urlget\nSitemap: x\nUser-agent: b\nDisallow: /x", "/x", false},
		{"an empty group for the agent", "User-agent: urlget\n\nUser-agent: *\nDisallow: /x", "/x", false}, // one group with two user agents
		{"a wildcard", "User-agent: *\nDisallow: /*.gif$", "/a/b.gif", false},
		{"a wildcard and an end anchor", "User-agent: *\nDisallow: /*.gif$", "/a/b.gif?x", true},
		{"the end anchor matches the last occurrence", "User-agent: *\nDisallow: /*a$", "/aba", false},
		{"two wildcards", "User-agent: *\nDisallow: /*/b/*/d", "/a/b/c/d", false},
		{"a piece that overlaps", "User-agent: *\nDisallow: /ab*ba$", "/aba", true},
		{"an end alone", "User-agent: *\nDisallow: /$", "/", false},
		{"an end alone for others", "User-agent: *\nDisallow: /$", "/x", true},
		{"encoded and bare", "User-agent: *\nDisallow: /%7Ejoe/%c3%a9", "/~joe/%C3%A9", false},
		{"bare in the file", "User-agent: *\nDisallow: /é", "/%C3%A9", false},
		{"an encoded slash is none", "User-agent: *\nDisallow: /a%2fb", "/a/b", true},
		{"an encoded asterisk in the file", "User-agent: *\nDisallow: /path/file-with-a-%2A.html", "/path/file-with-a-*.html", false}, // RFC 9309, section 2.2.3
		{"an encoded asterisk in both", "User-agent: *\nDisallow: /path/file-with-a-%2A.html", "/path/file-with-a-%2a.html", false},
		{"an encoded asterisk is not a wildcard", "User-agent: *\nDisallow: /a%2Ab", "/axb", true},
		{"an asterisk of the path is not a wildcard", "User-agent: *\nDisallow: /axb", "/a*b", true},
		{"a wildcard matches an asterisk", "User-agent: *\nDisallow: /a*b", "/a*b", false},
		{"an encoded dollar sign in the file", "User-agent: *\nDisallow: /path/foo-%24", "/path/foo-$", false},
		{"an encoded dollar sign is not an end", "User-agent: *\nDisallow: /a%24", "/a", true},
		{"a dollar sign in the middle", "User-agent: *\nDisallow: /a$b", "/a%24b", false},
		{"a character that URLs encode, in the file", "User-agent: *\nDisallow: /a<d", "/a%3Cd", false},
		{"a character that URLs encode, in the path", "User-agent: *\nDisallow: /a%7Bd%5B", "/a{d[", false},
		{"an encoded question mark is none", "User-agent: *\nDisallow: /a%3Fb", "/a?b", true},
		{"a query", "User-agent: *\nDisallow: /*?s=", "/find?s=x", false},
		{"CR alone", "User-agent: *\rDisallow: /x\r", "/x", false},
		{"CR LF", "User-agent: *\r\nDisallow: /x\r\n", "/x", false},
		{"a byte order mark", "\ufeffUser-agent: *\nDisallow: /x", "/x", false},
		{"comments and blanks", " user-AGENT :  *  # all\n\tDisallow : /x # y\n", "/x", false},
		{"rubbish", "\x00\xff<html>\nDisallow: /\nUser-agent: *\nnonsense\nDisallow: /x", "/y", true},
		{"a rule beyond MaxSize", long, "/x", true},
	}
	for _, tt := range tests {
		rules, err := robots.Read(strings.NewReader(tt.file), "urlget")
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got, why := rules.Allowed(tt.path); got != tt.want {
			t.Errorf("%s: %v (%s), want %v", tt.name, got, why, tt.want)
		}
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		group, agent string
		want         bool // the group is for the agent
	}{
		{"urlget", "urlget", true},
		{"URLget/1.0 (robot)", "urlget", true},
		{"urlget2", "urlget", true}, // RFC 9309 ends the name before the digit
		{"urlget-images", "urlget", false},
		{"MJ12bot", "MJ12bot", true},
		{"mj12bot/v1.4.8", "MJ12bot", true},
		{"MJ13bot", "MJ12bot", false},
		{"MJ", "MJ12bot", false},
		{"urlget", "urlget/1.0", true},
		{"urlget", "urlget 1.0", true},
		{"008", "008/0.85", true},
		{"archive.org_bot", "archive.org_bot", true},
		{"archive", "archive.org_bot", false},
		{"x", "", false},
		{"!", "/1", false},
	} {
		rules, err := robots.Read(strings.NewReader("User-agent: "+tt.group+"\nDisallow: /"), tt.agent)
		if err != nil {
			t.Fatal(err)
		}
		if ok, _ := rules.Allowed("/x"); ok == tt.want {
			t.Errorf("the group %q is for %q: %v, want %v", tt.group, tt.agent, !ok, tt.want)
		}
	}
}

func TestDelayAndSitemaps(t *testing.T) {
	t.Parallel()
	rules, err := robots.Read(strings.NewReader("Sitemap: http://h/one.xml\nUser-agent: *\nCrawl-delay: 1.5\nSitemap: /two.xml\nUser-agent: b\nCrawl-delay: 9\n"), "urlget")
	if err != nil || rules.Delay != 1500*time.Millisecond || strings.Join(rules.Sitemaps, " ") != "http://h/one.xml /two.xml" {
		t.Errorf("%+v, %v", rules, err)
	}
	for _, delay := range []string{"inf", "1e300", "100000"} {
		if rules, _ := robots.Read(strings.NewReader("User-agent: *\nCrawl-delay: "+delay), "urlget"); rules.Delay != time.Minute {
			t.Errorf("%s: %v", delay, rules.Delay)
		}
	}
	for _, delay := range []string{"", "x", "-1", "nan"} {
		if rules, _ := robots.Read(strings.NewReader("User-agent: *\nCrawl-delay: "+delay), "urlget"); rules.Delay != 0 {
			t.Errorf("%s: %v", delay, rules.Delay)
		}
	}
}

func TestReadErrorGivesNoRules(t *testing.T) {
	t.Parallel()
	readErr := errors.New("broken")
	if rules, err := robots.Read(iotest.ErrReader(readErr), "urlget"); rules != nil || err != readErr {
		t.Errorf("%v, %v", rules, err)
	}
	var noRules *robots.Rules
	if ok, _ := noRules.Allowed("/x"); !ok {
		t.Error("nil rules disallow a path")
	}
}

func FuzzRead(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /*a*b$\nAllow: /%41", "/a%zzb")
	f.Add("\xef\xbb\xbfuser-agent:urlget\rcrawl-delay:nan", "")
	f.Fuzz(func(t *testing.T, file, path string) {
		rules, err := robots.Read(strings.NewReader(file), "urlget")
		if err != nil {
			t.Fatal(err)
		}
		ok, why := rules.Allowed(path)
		if !ok && !strings.HasPrefix(why, "Disallow: ") || rules.Delay < 0 || rules.Delay > time.Minute {
			t.Errorf("%v %q %v", ok, why, rules.Delay)
		}
		text := rules.Text()
		if len(text) > robots.MaxSize {
			return
		}
		reread, err := robots.Read(bytes.NewReader(text), "other")
		if err != nil {
			t.Fatal(err)
		}
		if rereadOK, _ := reread.Allowed(path); rereadOK != ok || !slices.Equal(reread.Sitemaps, rules.Sitemaps) || (reread.Delay-rules.Delay).Abs() > time.Microsecond {
			t.Errorf("%q has other rules than %q", text, file)
		}
	})
}
