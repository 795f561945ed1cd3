package lab

// zebra is the Zebra server. Its database Library has the records of config/library.mrc.
var zebra = &service{
	name: "zebra",
	ports: []port{
		{name: "plain", published: 28208, greeting: greeting{send: zInit, want: "Zebra Information Server"}},
	},
	programs: []string{"zebrasrv", "zebraidx"},
	start: func(p *process) error {
		if err := p.config("zebra.cfg", "library.mrc"); err != nil {
			return err
		}
		if err := p.mkdir("zebra", 0o755); err != nil {
			return err
		}
		if err := p.run("", "zebraidx", "-c", "@DIR@/zebra.cfg", "-d", "Library", "update",
			"@DIR@/library.mrc"); err != nil {
			return err
		}
		return p.spawn("zebrasrv", "-c", "@DIR@/zebra.cfg", "-l", "@DIR@/log/zebra",
			"tcp:@HOST@:@PORT_PLAIN@")
	},
}
