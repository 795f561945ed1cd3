package listing

// dialects lists the forms of LIST without a heading, the most distinctive first.
var dialects = []func(p *Parser, line string) (Entry, bool){
	(*Parser).eplf,
	(*Parser).unix,
	(*Parser).dos,
	(*Parser).os2,
	(*Parser).vshell,
	(*Parser).netware,
	(*Parser).os400,
	(*Parser).vms,
	(*Parser).numbers,
	(*Parser).vxworks,
}

// List reads a line of LIST in any dialect. It returns false for lines without an entry: headings,
// totals, blank lines, "." and "..". A line in an unknown format is an entry of kind Unparsed.
func (p *Parser) List(line string) (Entry, bool) {
	skips := p.skips(line)
	p.lone = false
	if skips {
		return Entry{}, false
	}
	if p.dialect != nil {
		if e, ok := p.dialect(p, line); ok {
			e.Raw = line
			return e, !isSelf(e.Name)
		}
	}
	for _, parse := range dialects {
		if e, ok := parse(p, line); ok {
			e.Raw = line
			return e, !isSelf(e.Name)
		}
	}
	return unparsed(line), true
}
