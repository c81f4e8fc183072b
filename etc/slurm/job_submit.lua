-- Lets cosched adopt jobs that people submit to Slurm themselves: beside slurm.conf, with JobSubmitPlugins=lua.
-- A deadline opts in, as a line "#COSCHED --deadline=…" of the script or the comment "cosched: --deadline=…".
-- Nothing here keeps a job for longer than the lease: with cosched gone, the job begins as any other.

local LEASE = 300 -- seconds that a job waits for cosched's first word
local MARK = "cosched adopt"

-- Return the options that a job gives cosched, or nil where none is a deadline.
local function asked(job)
	local found = {}
	if job.script ~= nil then
		for line in string.gmatch(job.script, "[^\n]+") do
			if string.sub(line, 1, 1) ~= "#" then
				break -- as sbatch: the first command ends the options
			end
			local option = string.match(line, "^#COSCHED%s+(%-%-.-)%s*$")
			if option ~= nil then
				found[#found + 1] = option
			end
		end
	end
	if job.comment ~= nil then
		local options = string.match(job.comment, "^cosched:%s*(%-%-.-)%s*$")
		if options ~= nil then
			found[#found + 1] = options
		end
	end
	local all = table.concat(found, " ")
	if string.find(" " .. all, "%s%-%-deadline[=%s]") == nil then
		return nil
	end
	return all
end

-- Return a number that a job gives, or "" where it gives none: NO_VAL (16, 32 bits) and infinity are none.
local function number(value)
	if value == nil or value == 0xfffe or value >= 0xfffffffd then
		return ""
	end
	return string.format("%d", value)
end

function slurm_job_submit(job, partitions, uid)
	local comment = job.comment or ""
	if string.find(comment, "^cosched:%x+%-") or string.find(comment, "^cosched%-array:") then
		return slurm.SUCCESS -- cosched's own, also where it is a user's script with #COSCHED lines
	end
	local options = asked(job)
	if options == nil then
		return slurm.SUCCESS
	end
	if job.array_inx ~= nil then
		slurm.log_user("cosched adopts no arrays: remove --array, or the deadline for cosched.")
		return slurm.ERROR
	end
	local now = os.time()
	local begin = job.begin_time or 0
	-- What the job asked for itself, to be put back where cosched calls it back; Slurm lets users write none of this.
	job.admin_comment = string.format(
		"%s submitted=%d lease=%d begin=%d nodes=%s-%s tasks=%s %s",
		MARK, now, now + LEASE, begin, number(job.min_nodes), number(job.max_nodes), number(job.num_tasks), options
	)
	if begin < now + LEASE then
		job.begin_time = now + LEASE
	end
	slurm.log_user("cosched plans this job; without cosched it begins in %d s at the latest.", LEASE)
	return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
	return slurm.SUCCESS
end
