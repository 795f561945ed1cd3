package lab

import (
	"os"
	"strings"
)

// proftpd supports MLSD, MLST, UTF8, RANG and AUTH TLS. It requires data connections to reuse the
// TLS session.
var proftpd = &service{
	name: "proftpd",
	ports: []port{
		{name: "plain", published: 28110, greeting: greeting{want: "urlget lab, proftpd"}},
	},
	accounts: true,
	programs: []string{"proftpd"},
	asRoot:   true,
	start: func(p *process) error {
		// The modules are next to the program, in the unpacked package.
		p.values["MODULES"] = strings.TrimSuffix(p.programs["proftpd"], "/sbin/proftpd") + "/lib/proftpd"
		if err := p.config("proftpd.conf", "proftpd.passwd", "group"); err != nil {
			return err
		}
		// It refuses log folders that others can write to, and password files that others can read.
		if err := p.mkdir("log", 0o755); err != nil {
			return err
		}
		for _, name := range []string{"proftpd.passwd", "group", "key.pem"} {
			if err := os.Chmod(p.dir+"/"+name, 0o600); err != nil {
				return err
			}
		}
		return p.spawn("proftpd", "-n", "-q", "-c", "@DIR@/proftpd.conf")
	},
}
