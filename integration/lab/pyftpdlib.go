package lab

// pyftpdlib supports MLSD, MLST, UTF8 and AUTH TLS. Users cannot leave the served folder. It does
// not need root.
var pyftpdlib = &service{
	name: "pyftpdlib",
	ports: []port{
		{name: "plain", published: 28130, greeting: greeting{want: "urlget lab, pyftpdlib"}},
	},
	accounts: true,
	programs: []string{"/usr/bin/python3", "/usr/lib/python3/dist-packages/pyftpdlib"},
	// It decodes names as UTF-8.
	unserved: []string{NamesDir + "/latin1-\xe9.txt", NamesDir + "/octet-\xff.txt"},
	start: func(p *process) error {
		if err := p.config("ftpserver.py"); err != nil {
			return err
		}
		return p.spawn("/usr/bin/python3", "@DIR@/ftpserver.py")
	},
}
