package lab

import "path/filepath"

// sn is a small server of RFC 977 with XOVER and XHDR, without CAPABILITIES, OVER and AUTHINFO. The
// first article of a group has number 10.
var sn = &service{
	name: "sn",
	ports: []port{
		{name: "plain", published: 28175, greeting: greeting{send: group, want: "\r\n211 "}},
	},
	programs: []string{"snntpd.bin", "snprimedb", "snnewgroup", "snstore", "socat"},
	start: func(p *process) error {
		p.owner = nobody
		p.values["SN"] = filepath.Dir(p.programs["snstore"])
		p.env = append(p.env, "SNROOT="+filepath.Join(p.dir, "sn"), "POSTING_OK=1",
			"PATH="+p.values["SN"]+":/usr/bin:/bin")
		if err := p.mkdir("sn", 0o755); err != nil {
			return err
		}
		if err := p.config("snpost"); err != nil {
			return err
		}
		if err := p.link("snpost", "sn/.SNPOST"); err != nil {
			return err
		}
		if err := p.chown("sn", nobody); err != nil {
			return err
		}
		if err := p.run("", "snprimedb"); err != nil {
			return err
		}
		for _, g := range []string{Group, GroupOther, GroupEmpty} {
			if err := p.run("", "snnewgroup", g); err != nil {
				return err
			}
		}
		batch, err := p.articles()
		if err != nil {
			return err
		}
		if err := p.run(batch, "snstore", "-r"); err != nil {
			return err
		}
		return p.inetd("PLAIN", p.programs["snntpd.bin"])
	},
}
