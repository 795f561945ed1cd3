package lab

// pygopherd supports Gopher+ and, on the same port, TLS. Its responses never end with a dot line,
// and its errors start with --2.
var pygopherd = &service{
	name: "pygopherd",
	ports: []port{
		{name: "plain", published: 28155,
			greeting: greeting{send: "/gopher\r\n", want: "iWelcome to the lab."}},
		{name: "tls", published: 28155, sameAs: "plain", greeting: greeting{
			tls: true, send: "/gopher\r\n", want: "iWelcome to the lab."}},
	},
	programs: []string{"pygopherd", "/usr/bin/python3"},
	start: func(p *process) error {
		p.owner = nobody
		if err := p.config("pygopherd.conf"); err != nil {
			return err
		}
		return p.spawn("/usr/bin/python3", p.programs["pygopherd"], "@DIR@/pygopherd.conf")
	},
}
