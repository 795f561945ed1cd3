package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// inn supports RFC 3977 completely, the groups of [Group], and authentication. One port has
// STARTTLS, another TLS from the start.
var inn = &service{
	name: "inn",
	ports: []port{
		{name: "plain", published: 28170, greeting: greeting{send: group, want: "\r\n211 "}},
		{name: "starttls", published: 28171, greeting: greeting{send: group, want: "\r\n211 "}},
		{name: "tls", published: 28172, greeting: greeting{tls: true, send: group, want: "\r\n211 "}},
	},
	accounts: true,
	programs: []string{"usr/lib/news/bin/innd", "usr/lib/news/bin/nnrpd-ssl", "usr/lib/news/bin/makedbz",
		"rnews"},
	asRoot: true,
	start:  startINN,
}

// group is a reader's first command.
const group = "GROUP " + Group + "\r\n"

// news is the user that Debian's INN requires.
var news = owner{9, 9}

func startINN(p *process) error {
	library := filepath.Dir(filepath.Dir(p.programs["usr/lib/news/bin/innd"]))
	p.values["NEWS"] = library
	p.env = append(p.env, "LD_LIBRARY_PATH="+library, "INNCONF="+filepath.Join(p.dir, "inn", "inn.conf"))
	p.grace = 0 // innd takes more than ten seconds after SIGTERM, and its spool is discarded
	for _, dir := range []string{
		"filter", "db", "run", "log/OLD", "log/path", "tmp", "spool/articles", "spool/overview",
		"spool/incoming/bad", "spool/incoming/tmp", "spool/outgoing", "spool/archive", "spool/innfeed",
	} {
		if err := p.mkdir("inn/"+dir, 0o755); err != nil {
			return err
		}
	}
	if err := p.config("inn/inn.conf", "inn/readers.conf", "inn/incoming.conf", "inn/newsfeeds",
		"inn/storage.conf", "inn/expire.ctl", "inn/active", "inn/newsgroups"); err != nil {
		return err
	}
	for _, name := range []string{"active", "newsgroups"} {
		if err := p.link("inn/"+name, "inn/db/"+name); err != nil {
			return err
		}
	}
	for name, content := range map[string][]byte{"key.pem": keyPEM, "db/active.times": nil,
		"db/history": nil} {
		if err := p.write("inn/"+name, content, 0o600); err != nil {
			return err
		}
	}
	batch, err := p.articles()
	if err != nil {
		return err
	}
	if err := p.chown("inn", news); err != nil {
		return err
	}
	p.owner = news
	if err := p.run("", "usr/lib/news/bin/makedbz", "-i", "-o", "-s", "100000",
		"-f", "@DIR@/inn/db/history"); err != nil {
		return err
	}
	if err := p.spawn("usr/lib/news/bin/innd", "-f", "-N"); err != nil {
		return err
	}
	if err := p.await(0); err != nil {
		return err
	}
	if err := p.run(batch, "rnews", "-N"); err != nil {
		return err
	}
	if err := p.spawn("usr/lib/news/bin/nnrpd-ssl", "-D", "-f", "-b", "@HOST@", "-p",
		"@PORT_STARTTLS@"); err != nil {
		return err
	}
	return p.spawn("usr/lib/news/bin/nnrpd-ssl", "-D", "-f", "-S", "-b", "@HOST@", "-p", "@PORT_TLS@")
}

// articles returns the articles below the served folder as an rnews(1) batch.
func (p *process) articles() (string, error) {
	// Glob only fails for a malformed pattern. It returns sorted names.
	names, _ := filepath.Glob(filepath.Join(p.root, NewsDir, "*.eml"))
	var b strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "#! rnews %d\n%s", len(text), text)
	}
	return b.String(), nil
}
