package lab

// pureFTPd has replies of several lines, MLSD with its own facts, ESTA, PRET, UTF8 and AUTH TLS.
// Users cannot leave the served folder.
var pureFTPd = &service{
	name: "pure-ftpd",
	ports: []port{
		{name: "plain", published: 28120, greeting: greeting{want: "Pure-FTPd"}},
	},
	accounts: true,
	programs: []string{"pure-ftpd", "pure-pw"},
	asRoot:   true,
	mounts:   true,
	// "553 Prohibited file name".
	unserved: []string{NamesDir + `/back\slash.txt`},
	start: func(p *process) error {
		p.grace = 0 // it takes seconds after SIGTERM, and has nothing to save
		if err := p.useAccounts(); err != nil {
			return err
		}
		if err := p.config("pureftpd.passwd"); err != nil {
			return err
		}
		if err := p.run("", "pure-pw", "mkdb", "@DIR@/pureftpd.pdb", "-f",
			"@DIR@/pureftpd.passwd"); err != nil {
			return err
		}
		return p.spawn("pure-ftpd", "-4", "-S", "@HOST@,@PORT_PLAIN@", "-H",
			"-l", "puredb:@DIR@/pureftpd.pdb", "-g", "@DIR@/pid", "-O", "clf:@DIR@/log/transfer.log",
			"-p", "@PASSIVE_MIN@:@PASSIVE_MAX@", "-P", "@ADVERTISED@",
			"-Y", "1", "--certfile", "@DIR@/all.pem", "-D", "-z", "-u", "100", "-c", "100", "-C", "100")
	},
}
