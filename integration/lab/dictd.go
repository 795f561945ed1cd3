package lab

import (
	"os"
	"path/filepath"
)

// dictd serves one small dictionary, testdict. It does not double dots.
var dictd = &service{
	name: "dictd",
	ports: []port{
		{name: "plain", published: 28165,
			greeting: greeting{send: "SHOW DB\r\nQUIT\r\n", want: "testdict \"urlget lab\""}},
	},
	accounts: true, // AUTH is possible, but not required
	programs: []string{"dictd", "dictfmt", "dictzip"},
	start: func(p *process) error {
		if err := p.config("testdict.txt", "dictd.conf"); err != nil {
			return err
		}
		source, err := os.ReadFile(filepath.Join(p.dir, "testdict.txt"))
		if err != nil {
			return err
		}
		if err := p.run(string(source), "dictfmt", "-j", "--utf8", "-s", "urlget lab",
			"-u", "http://lab.invalid/", "testdict"); err != nil {
			return err
		}
		if err := p.run("", "dictzip", "testdict.dict"); err != nil {
			return err
		}
		return p.spawn("dictd", "--debug", "nodetach", "-c", "@DIR@/dictd.conf",
			"--pid-file", "@DIR@/pid", "--locale", "C.UTF-8")
	},
}
