package lab

// rsyncd is a daemon with the tree as two modules: lab, and private, for [User] only.
var rsyncd = &service{
	name: "rsync",
	ports: []port{
		{name: "plain", published: 28220, greeting: greeting{want: "urlget lab, rsync"}},
	},
	accounts: true,
	programs: []string{"rsync"},
	start: func(p *process) error {
		p.owner = nobody
		for _, name := range []string{"rsyncd.conf", "rsyncd.motd", "rsyncd.secrets"} {
			if err := p.config(name); err != nil {
				return err
			}
		}
		return p.spawn("rsync", "--daemon", "--no-detach", "--config=@DIR@/rsyncd.conf", "--address=@HOST@",
			"--port=@PORT_PLAIN@", "--log-file=@DIR@/log/rsync.log")
	},
}
