package lab

import (
	"os"
	"strings"
)

// proftpd has MLSD, MLST, UTF8 and RANG, and TLS on request. It insists on the reuse of the TLS
// session for data.
var proftpd = &service{
	name: "proftpd",
	ports: []port{
		{name: "plain", published: 28110, greeting: greeting{want: "urlget lab, proftpd"}},
	},
	accounts: true,
	programs: []string{"proftpd"},
	asRoot:   true,
	start: func(p *process) error {
		// Beside the program, wherever the package was unpacked.
		p.values["MODULES"] = strings.TrimSuffix(p.programs["proftpd"], "/sbin/proftpd") + "/lib/proftpd"
		if err := p.config("proftpd.conf", "proftpd.passwd", "group"); err != nil {
			return err
		}
		// It refuses folders of logs that others can write to, and files of passwords that others
		// can read.
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
