package lab

// zInit starts a Z39.50 session: version 3, search and present, messages of 1 MiB.
const zInit = "\xb4\x14\x83\x02\x05\xe0\x84\x02\x06\xc0\x85\x04\x00\x10\x00\x00\x86\x04\x00\x10\x00\x00"

// ztest is yaz-ztest, the Z39.50 test server of YAZ. A search in its database Default finds as many
// records as the number in the query.
var ztest = &service{
	name: "ztest",
	ports: []port{
		{name: "plain", published: 28207, greeting: greeting{send: zInit, want: "GFS/YAZ"}},
	},
	programs: []string{"yaz-ztest"},
	start: func(p *process) error {
		return p.spawn("yaz-ztest", "-l", "@DIR@/log/ztest", "tcp:@HOST@:@PORT_PLAIN@")
	},
}
